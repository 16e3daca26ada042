package jvm

import (
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/sandbox"
)

// The package managers, by the names of their programs.
const (
	maven  = "mvn"
	gradle = "gradle"
)

var gradleFiles = []string{"settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"}

func project() ecosystem.Project {
	return ecosystem.Project{
		Parts: ecosystem.Parts{Manifests: []string{"pom.xml", "build.gradle", "build.gradle.kts"}, Find: javaParts},
		Dependencies: ecosystem.Dependencies{
			Managers: []string{maven, gradle}, Units: javaUnits,
			Manifests: []string{"pom.xml"},
			Setup:     javaSetup, Installs: installs,
			Reader: func(base string) func([]byte) ecosystem.Versions {
				return map[string]func([]byte) ecosystem.Versions{
					"pom.xml": mavenPackages, "build.gradle": ecosystem.Pairs(gradleEntry), "build.gradle.kts": ecosystem.Pairs(gradleEntry),
					"gradle.lockfile": ecosystem.Pairs(gradleLockEntry),
				}[base]
			},
			Probe: func(_ *ecosystem.Checkout, u ecosystem.Unit, changed []ecosystem.Package) string {
				if u.Manager == maven {
					return artifacts(changed, `"${MAVEN_OPTS#-Dmaven.repo.local=}"`, ".")
				}
				return artifacts(changed, `"$GRADLE_USER_HOME"/caches/modules-2/files-2.1`, "/")
			},
			HostFiles: []string{"settings.gradle", "settings.gradle.kts"}, Hosts: repositories, Registries: superPOM,
		},
		Toolchain: ecosystem.Toolchain{
			Tool: "java", Names: []string{"java"}, Looks: "java",
			Needed: func(c *ecosystem.Checkout) bool {
				return len(c.With(append([]string{"pom.xml"}, gradleFiles...)...)) > 0
			}, Find: javaToolchain,
			Variables: []string{"JAVA_HOME", "SDKMAN_DIR"},
			VersionIn: func(part string) string {
				if !strings.HasPrefix(part, "java ") {
					return ""
				}
				return part[strings.LastIndexByte(part, ' ')+1:] // the folder comes first
			},
		},
		Programs: ecosystem.Programs{
			Install:   map[string]string{maven: "install Maven (https://maven.apache.org)", gradle: "install Gradle (https://gradle.org), or commit its wrapper"},
			Toolchain: []string{maven, gradle, "java", "javac"}, Harmless: []string{maven, "mvnw", gradle, "gradlew", "java", "javac"},
			Wrappers: []string{"mvnw", "gradlew"},
			Folders: map[string][]string{
				maven: {"-f", "--file"}, "mvnw": {"-f", "--file"}, gradle: {"-p", "--project-dir"}, "gradlew": {"-p", "--project-dir"},
			},
			Fetches: distribution,
		},
	}
}

// installs tells a call that asks for nothing but dependencies.
func installs(words []string) bool {
	rest := words[1:]
	return slices.Contains([]string{maven, "mvnw", gradle, "gradlew"}, path.Base(words[0])) && len(rest) > 0 && !slices.ContainsFunc(rest, func(w string) bool {
		return !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "dependency:") && w != "dependencies"
	})
}

func javaUnits(c *ecosystem.Checkout) []ecosystem.Unit {
	return append(c.CacheUnit(maven, "m2", ecosystem.Topmost(c.With("pom.xml")), "pom.xml"),
		c.CacheUnit(gradle, gradle, ecosystem.Topmost(c.With(gradleFiles...)),
			"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.lockfile", "libs.versions.toml")...)
}

// javaParts are the builds of Maven and Gradle; modules belong to the build
// above them.
func javaParts(c *ecosystem.Checkout, _ func(string) bool) []ecosystem.Part {
	var parts []ecosystem.Part
	for _, dir := range ecosystem.Topmost(c.With(append([]string{"pom.xml"}, gradleFiles...)...)) {
		manifest, ok := c.Has(dir, "pom.xml")
		p := ecosystem.Part{Language: "Java", Dir: dir}
		if ok {
			mvn := "mvn"
			if _, wrapped := c.Has(dir, "mvnw"); wrapped {
				mvn = "./mvnw"
			}
			p.Test, p.Build = mvn+" test", mvn+" test-compile"
		} else {
			manifest, _ = c.Has(dir, "build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")
			gradle := "gradle"
			if _, wrapped := c.Has(dir, "gradlew"); wrapped {
				gradle = "./gradlew"
			}
			p.Test, p.Build = gradle+" test", gradle+" testClasses"
		}
		p.Manifest = path.Join(dir, manifest)
		parts = append(parts, p)
	}
	return parts
}

func javaSetup(c *ecosystem.Checkout, u ecosystem.Unit, _ bool) (line string) {
	files, wrapper, args := []string{"pom.xml"}, "mvnw", " -B dependency:go-offline"
	if u.Manager == gradle {
		files, wrapper, args = gradleFiles, "gradlew", " dependencies"
	}
	for _, d := range ecosystem.Topmost(c.With(files...)) {
		program := u.Manager
		if c.Files(d)[wrapper] {
			program = "./" + wrapper
		}
		line = ecosystem.JoinLines(line, ecosystem.InDir(d, program+args))
	}
	return line
}

// artifacts looks for what changed in a cache of Maven or Gradle; the folders
// of a group are parted by its dots there, or not.
func artifacts(changed []ecosystem.Package, cache, dots string) string {
	var line []string
	for _, p := range changed {
		group, name, ok := strings.Cut(p.Name, ":")
		if p.To == "" {
			continue
		}
		if !ok || !plainWord(group) || !plainWord(name) || !plainWord(p.To) {
			return ""
		}
		at := path.Join(strings.ReplaceAll(group, dots, "/"), name, p.To)
		line = append(line, "{ test -e "+cache+"/"+at+" || test -e /usr/share/maven-repo/"+at+"; }")
	}
	if len(line) == 0 {
		return "true"
	}
	if all := strings.Join(line, " && "); len(all) <= ecosystem.MaxAsked {
		return all
	}
	return ""
}

var plain1 = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)

func plainWord(s string) bool { return plain1.MatchString(s) }

// javaToolchain shows the JDK that the user's java belongs to, Maven and Gradle
// where they are, and their caches; never their settings, which hold passwords.
func javaToolchain(_ context.Context, m *ecosystem.Machine) (ecosystem.Environment, error) {
	jdk := m.Value("JAVA_HOME", "")
	if jdk == "" || !ecosystem.Exist(filepath.Join(jdk, "bin", "java")) {
		_, real, err := m.Look("java")
		if err != nil {
			return ecosystem.Environment{}, err
		}
		jdk = filepath.Dir(filepath.Dir(real))
		if filepath.Base(jdk) == "jre" {
			jdk = filepath.Dir(jdk)
		}
	}
	b := ecosystem.NewBuilder(m)
	b.Show(jdk)
	b.Names(filepath.Join(jdk, "bin"), 1)
	b.Names(filepath.Join(jdk, "lib"), 1)
	etc, err := filepath.Glob("/etc/java-*") // where Debian's JDKs keep their configuration
	if err == nil {
		for _, e := range etc {
			b.Show(e)
		}
	}
	dirs := []string{filepath.Join(jdk, "bin")}
	for _, tool := range []string{"mvn", "gradle"} {
		at, real, err := m.Look(tool)
		if err != nil {
			continue
		}
		b.Names(filepath.Dir(filepath.Dir(real)), 2)
		b.Show("/etc/maven")
		b.Show("/etc/m2.conf")
		if !ecosystem.OfSystem(real) {
			b.Show(filepath.Dir(filepath.Dir(real)))
			dirs = append(dirs, filepath.Dir(real))
		} else {
			dirs = append(dirs, filepath.Dir(at))
		}
	}
	b.Set("PATH", strings.Join(dirs, ":"))
	b.Set("JAVA_HOME", jdk)
	m2 := m.Home(".m2", "repository")
	b.Cache(m2, "m2")
	b.Packages(m2) // an artifact can be installed again under its name
	b.Cache(m.Home(".m2", "wrapper"), "m2-wrapper")
	b.Set("MAVEN_OPTS", "-Dmaven.repo.local="+m2)
	b.Set("MAVEN_ARGS", "-o -B")
	gradleHome := m.Value("GRADLE_USER_HOME", m.Home(".gradle"))
	b.Own(gradleHome, "gradle")
	b.Cache(filepath.Join(gradleHome, "caches"), "gradle-caches")
	b.Cache(filepath.Join(gradleHome, "wrapper"), "gradle-wrapper")
	b.Set("GRADLE_USER_HOME", gradleHome)
	b.Names(filepath.Join(gradleHome, "caches", "modules-2", "files-2.1"), 4) // down to the hash of each artifact
	b.Names(filepath.Join(gradleHome, "wrapper", "dists"), 3)
	b.Caches = []ecosystem.Cache{
		{Name: "m2", Env: []string{"MAVEN_OPTS=-Dmaven.repo.local={} " + sandbox.JavaProxy}},
		{Name: gradle, Env: []string{"GRADLE_USER_HOME={}"}},
	}
	b.Online = []string{"MAVEN_ARGS=-B", "GRADLE_OPTS=" + sandbox.JavaProxy}
	b.Version = "java " + filepath.Base(jdk) + " " + javaRelease(jdk)
	return b.Environment, nil
}

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="([^"]+)"`)

func javaRelease(jdk string) string {
	if m := javaVersion.FindStringSubmatch(ecosystem.FileText(filepath.Join(jdk, "release"))); m != nil {
		return m[1]
	}
	return ""
}

var pomRepository = regexp.MustCompile(`(?s)<(?:repository|pluginRepository|mirror)>.*?</(?:repository|pluginRepository|mirror)>`)

// repositories are those that a pom names.
func repositories(base string, text []byte) (part []byte, ok bool) {
	if base != "pom.xml" {
		return nil, false
	}
	for _, m := range pomRepository.FindAll(text, -1) {
		part = append(part, m...)
	}
	return part, true
}

// superPOM is what Maven has built in: the repository of every project.
func superPOM(_ context.Context, m *ecosystem.Machine, manager string) string {
	if manager != maven {
		return ""
	}
	_, real, err := m.Look(maven)
	if err != nil {
		return ""
	}
	for _, lib := range []string{filepath.Join(filepath.Dir(filepath.Dir(real)), "lib"), "/usr/share/maven/lib"} {
		jars, _ := filepath.Glob(filepath.Join(lib, "maven-model-builder*.jar")) // a bad pattern is none
		for _, j := range jars {
			if text := inZip(j, "org/apache/maven/model/pom-4.0.0.xml"); text != "" {
				part, _ := repositories("pom.xml", []byte(text))
				return string(part)
			}
		}
	}
	return ""
}

func inZip(archive, name string) string {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return ""
	}
	defer func() { _ = z.Close() }() // only read
	f, err := z.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return ""
	}
	return string(b)
}

var distributionURL = regexp.MustCompile(`(?m)^distributionUrl\s*=.*/([\w.+-]+)\.zip\s*$`)

// distribution is what a wrapper of Gradle or Maven would download, where it is
// not on this machine.
func distribution(_ context.Context, m *ecosystem.Machine, n ecosystem.Need) (what, mend string) {
	file, store := "gradle/wrapper/gradle-wrapper.properties", ""
	switch path.Base(n.Name) {
	case "gradlew":
		store = filepath.Join(m.Value("GRADLE_USER_HOME", m.Home(".gradle")), "wrapper", "dists")
	case "mvnw":
		file, store = ".mvn/wrapper/maven-wrapper.properties", m.Home(".m2", "wrapper", "dists")
	}
	settings := m.Text(path.Join(n.Dir, path.Dir(n.Name), file))
	of := distributionURL.FindStringSubmatch(settings)
	if store == "" || of == nil || m.Online || m.Installs || strings.Contains(settings, "Base=PROJECT") {
		return "", ""
	}
	if ecosystem.Exist(filepath.Join(store, of[1])) || ecosystem.Exist(filepath.Join(store, strings.TrimSuffix(of[1], "-bin"))) {
		return "", ""
	}
	return fmt.Sprintf("%s, which %s would download, is not in %s, and the sandbox has no network", of[1], n.Name, store), ecosystem.InDir(n.Dir, n.Name+" --version")
}

var (
	gradleEntry     = regexp.MustCompile(`["']([\w.-]+:[\w.-]+):([\w.+-]+)["']`)
	gradleLockEntry = regexp.MustCompile(`(?m)^([\w.-]+:[\w.-]+):([^=\s]+)=`)
	mavenProperty   = regexp.MustCompile(`\$\{([^}]+)\}`)
)

// mavenLists are where a pom names what it needs.
var mavenLists = []string{"project/parent", "project/dependencies/dependency", "project/dependencyManagement/dependencies/dependency", "project/build/plugins/plugin"}

// maxPomDepth bounds how deep a pom is looked into.
const maxPomDepth = 16

func mavenPackages(b []byte) ecosystem.Versions {
	out, values := ecosystem.NewVersions(), map[string]string{}
	type artifact struct{ group, name, version string }
	var all []artifact
	var one artifact
	dec := xml.NewDecoder(bytes.NewReader(b))
	var at []string
	for n := 0; ; n++ {
		tok, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			for _, a := range all {
				version := mavenProperty.ReplaceAllStringFunc(a.version, func(s string) string { return cmp.Or(values[s[2:len(s)-1]], s) })
				out.Add(cmp.Or(a.group, "org.apache.maven.plugins")+":"+a.name, version)
			}
			return out
		case err != nil:
			return ecosystem.NewVersions()
		case n > ecosystem.MaxElements, len(all) > ecosystem.MaxListed, len(values) > ecosystem.MaxListed, len(at) > maxPomDepth*maxPomDepth:
			out.More = true
			return out
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			at = append(at, tok.Name.Local)
			if slices.Contains(mavenLists, strings.Join(at[:min(len(at), maxPomDepth)], "/")) {
				one = artifact{}
			}
		case xml.EndElement:
			if slices.Contains(mavenLists, strings.Join(at[:min(len(at), maxPomDepth)], "/")) {
				all = append(all, one)
			}
			at = at[:len(at)-1]
		case xml.CharData:
			text := strings.TrimSpace(string(tok))
			if text == "" || len(at) < 2 {
				continue
			}
			in, last := strings.Join(at[:min(len(at)-1, maxPomDepth)], "/"), at[len(at)-1]
			field := map[string]*string{"groupId": &one.group, "artifactId": &one.name, "version": &one.version}[last]
			switch {
			case len(text) > ecosystem.MaxVersion/16: // and of what stands for it: the product is bounded, too
				out.More = out.More || field != nil || in == "project/properties"
			case in == "project/properties":
				values[last] = text
			case field != nil && slices.Contains(mavenLists, in):
				*field = text
			}
		}
	}
}
