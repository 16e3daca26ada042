package agency

import (
	"strings"
	"testing"
)

// What looks like a secret in a file, with its line; every other line of a
// project that comes near it does not.
func TestSecretsInFiles(t *testing.T) {
	for name, tt := range map[string]struct {
		path, content string
		line          int
		what          string
	}{
		"aws in a shell script":     {"a.sh", "#!/bin/sh\n\nexport AWS_SECRET_ACCESS_KEY=x9Qp3LmZ0aB7cD2eF4gH6iJ8kL1mN5oP7qR9sT0u\n", 3, "AWS_SECRET_ACCESS_KEY"},
		"aws in notes":              {"notes.md", "AWS_SECRET=wJalrXUtnFEMI/K7MDENG/bPxRfiCY9aB3dE5fG\n", 1, "AWS_SECRET"},
		"address":                   {"db.txt", "DATABASE_URL=postgres://admin:Tr0ub4dor3xyz@db.prod.example.com/app\n", 1, "a password in an address"},
		"a word in an address":      {"db.conf", "dsn = mysql://shop:sesame@db/shop\n", 1, "a password in an address"},
		"address in code":           {"db.go", "var dsn = \"amqp://u:9fK2mQ7xLw3v@mq.internal/\"\n", 1, "a password in an address"},
		"aws's own":                 {"notes.md", "AWS_SECRET=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n", 1, "AWS_SECRET"},
		"terraform":                 {"terraform.tfvars", "region = \"eu\"\ndb_password = \"Tr0ub4dor3xyz\"\n", 2, "db_password"},
		"properties":                {"app.properties", "password=hunter2\n", 1, "password"},
		"yaml":                      {"config.yaml", "smtp:\n  smtp-password: 'fa6Kz!9qWm'\n", 2, "smtp-password"},
		"toml":                      {"a.toml", "api_key = \"4f9e1c7a-3b2d-4e5f-8a9b-0c1d2e3f4a5b\"\n", 1, "api_key"},
		"json":                      {"a.json", "{\n \"clientSecret\": \"GOCkPX-8f3kd02lsmQpz7Yt1\"\n}\n", 2, "clientSecret"},
		"xml":                       {"settings.xml", "<server>\n<password>s3cr3tPa55w0rd</password></server>\n", 2, "password"},
		"connection string":         {"web.config", "Server=db;User=sa;Password=Gq7!mZ2pL;\n", 1, "Password"},
		"kubeconfig":                {"k/conf", "users:\n- name: a\n  user:\n    token: aBcDeFgHiJkLmNoPqRsT0123456789\n", 4, "token"},
		"key of a kubeconfig":       {"k/conf", "    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVk9x3Qp2\n", 1, "client-key-data"},
		"docker":                    {"d/config.json", `{"auths":{"x":{"auth":"dXNlcjpwYXNzd29yZDEyMw=="}}}`, 1, "a login of a registry"},
		"npm":                       {"n/npmrc", "//registry.example/:_authToken=4f9e1c7a-3b2d\n", 1, "a token of npm"},
		"npm without a registry":    {"n/npmrc", "a=b\n_auth=dXNlcjpwYXNz\n", 2, "a token of npm"},
		"jwt":                       {"t.txt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U\n", 1, "a JSON web token"},
		"header":                    {"req.http", "GET /\nAuthorization: Bearer 9fK2mQ7xLw3vT8aZ0bHcJ4sX\n", 2, "a header of authorization"},
		"pypi":                      {"x.cfg", "pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWItY2RlZi0wMTIzLTQ1Njc4OWFiY2RlZgACKlszLCI5\n", 1, "a token of PyPI"},
		"literal of code":           {"a.ts", "const cfg = {\n  apiKey: 'q7Xv93LmZ0aB7cD2eF4gH6iJ8kL1'\n}\n", 2, "apiKey"},
		"form in an example":        {"conf.example", "key = ghp_" + strings.Repeat("aB3", 12) + "\n", 1, "a token of GitHub"},
		"variable":                  {"a.yaml", "password: ${PASSWORD}\ntoken: $TOKEN1\nsecret: {{ .Values.secret1 }}\npwd: <your-pw-1>\napi_key: %API_KEY1%\n", 0, ""},
		"github actions":            {"ci.yml", "token: ${{ secrets.GITHUB_TOKEN }}\nsecrets: inherit\n", 0, ""},
		"terraform's variable":      {"a.tf", "password = var.db_password_2\ntoken = data.vault_generic_secret.x.data[\"t0\"]\nsecret = local.a1b2c3d4e5f6g7h8\n", 0, ""},
		"example by its name":       {"config.example.yaml", "password: hunter2\nurl: postgres://a:Tr0ub4dor3xyz@db/x\n", 0, ""},
		"fixture":                   {"internal/testdata/user.json", `{"token": "aBcDeFgHiJkLmNoPqRsT0123456789"}`, 0, ""},
		"placeholder":               {"a.ini", "password=changeme123\npassword=password1\npasswd = test1234\ntoken = your-token-here-1\napi_key = sk-xxxxxxxx1\n", 0, ""},
		"words":                     {"de.json", `{"password": "Passwort", "token": "Zugangsschluessel", "new_password": "Neues Passwort 2"}`, 0, ""},
		"schema":                    {"openapi.yaml", "password: string\ntoken_type: bearer\nmax_tokens: 4096\nsecretName: my-app-tls-2\npassword_hash: $2b$10$abcdefgh\n", 0, ""},
		"lock file of npm":          {"package-lock.json", `"node_modules/csrf-token": {"version": "2.0.1-beta.3", "resolved": "https://registry.npmjs.org/x/-/x-1.tgz", "integrity": "sha512-oKnbhFyRIXpUuez8iBMmyEa4nbj4IOQyuhc/wy9kY7/WVPcwIO9VA668Pu8RkO7+0G76SLROeyw9CpQ061i4mA=="}`, 0, ""},
		"dependency of such a name": {"package.json", `{"dependencies": {"generate-password": "1.0.0-rc1", "js-token": "^4.0.0", "secret": "~1.2.3-next.9"}}`, 0, ""},
		"lock file of cargo":        {"Cargo.lock", "checksum = \"d468802bab17cbc0cc575e9b053f41e72aa36bfa6b7f55e3529ffa43161b97fa\"\n", 0, ""},
		"go.sum":                    {"go.sum", "example.com/token v1.0.0 h1:4BZ2QTqHrGbDn8qPNKcCuYW1uXG1eYyFMHIFgfuyTDM=\n", 0, ""},
		"lock file of yarn":         {"yarn.lock", "js-tokens@^4.0.0:\n  resolved \"https://registry.yarnpkg.com/js-tokens/-/js-tokens-4.0.0.tgz#19203fb59991df98e3a287050d4647cdeaf32499\"\n", 0, ""},
		"digest":                    {"a.yaml", "image: x@sha256:9f86d081884c7d659a2feaa0c55ad0159f86d081884c7d659a2feaa0c55ad015\nsecret: sha256:9f86d081884c7d65\n", 0, ""},
		"uuid and git hash":         {"a.yaml", "id: 6fa459ea-ee8a-3ca4-894e-db77e160355e\ncommit: 5cd5431a9ff2390166df3c60ae4dcce89b698c62\ncache_key: 9f86d081884c7d659a2f\n", 0, ""},
		"public key":                {"keys.txt", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada\npublic_key: MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE\n", 0, ""},
		"certificate":               {"ca.txt", "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0B\n", 0, ""},
		"path and address":          {"a.conf", "private_key: /etc/ssl/private/key1.pem\nsecret: https://vault.example.com/v1/a\ntoken = file:./t0ken/path1\nsecret = Config/Production/Keys/SigningKey2.json\napi_key: projects/123/secrets/a-long-name-of-one/versions/4\n", 0, ""},
		"local services":            {"compose.yml", "POSTGRES_PASSWORD: postgres\nurl: postgres://postgres:postgres@localhost/x\nurl: amqp://guest:guest@mq\nurl: https://user:password@host/\nurl: http://u:${PW}@h\n", 0, ""},
		"code that reads it":        {"a.py", "token = os.environ['API_TOKEN_1']\npassword = getpass1()\nsecret: str = cfg.secret2\nif token == \"abc123\":\n", 0, ""},
		"test code":                 {"a_test.go", "token := \"abc123\"\nu := \"http://a:b@c/\"\npassword := \"hunter2\"\nu = \"https://user:p4ss@host\"\n", 0, ""},
		"page token":                {"list.json", `{"nextPageToken": "CAUQAA9fK2mQ7xLw3vT8aZ0bHcJ4sX"}`, 0, ""},
	} {
		got := SecretsIn(tt.path, []byte(tt.content))
		switch {
		case tt.line == 0 && len(got) > 0:
			t.Errorf("%s: line %d is taken for %s", name, got[0].Line, got[0].What)
		case tt.line > 0 && (len(got) == 0 || got[0].Line != tt.line || !strings.Contains(got[0].What, tt.what)):
			t.Errorf("%s: %+v, want line %d, %s", name, got, tt.line, tt.what)
		}
	}
}

func BenchmarkSecretsIn(b *testing.B) {
	text := []byte(strings.Repeat("func TestOfSomething(t *testing.T) { token := want(12); password = \"x\" }\n", 1<<14))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		SecretsIn("a.go", text)
	}
}
