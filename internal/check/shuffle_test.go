package check

import "testing"

// TestShuffled asks each runner for another order that has an option for it.
func TestShuffled(t *testing.T) {
	pkg := func(version string) []string {
		return []string{`package.json={"scripts": {"test": "jest --ci", "v": "vitest run", "deep": "npm run test && true"}, "devDependencies": {"jest": "` + version + `"}}`}
	}
	for _, tt := range []struct {
		line string
		repo []string
		want string
	}{
		{"go test ./...", nil, "go test -shuffle=on ./..."},
		{"go vet ./... && go test -race ./a ./b", nil, "go vet ./... && go test -shuffle=on -race ./a ./b"},
		{"go test -shuffle=7 ./...", nil, ""},
		{"go test ./... > out", nil, ""},
		{"npx vitest run src", nil, "npx vitest run src --sequence.shuffle"},
		{"npx vitest --sequence.shuffle", nil, ""},
		{"npm run v", pkg("1"), "npm run v -- --sequence.shuffle"},
		{"npx jest --ci", pkg("^29.5.0"), "npx jest --ci --randomize"},
		{"npm test", pkg("~30.1"), "npm test -- --randomize"},
		{"npm test -- --silent", pkg("30.0.0"), "npm test -- --silent --randomize"},
		{"yarn test", pkg(">=29.7"), "yarn test --randomize"},
		{"npx jest", pkg("^29.4.3"), ""},
		{"npx jest", append(pkg("^29.0.0"), `node_modules/jest/package.json={"version": "29.7.0"}`), "npx jest --randomize"},
		{"npx jest", append(pkg("latest"), `node_modules/jest/package.json={"version": "28.1.0"}`), ""},
		{"npx jest", nil, ""},
		{"(cd web && npx jest) && go test ./...", []string{`web/package.json={"devDependencies": {"jest": "29.7.0"}}`}, "(cd web && npx jest --randomize) && go test -shuffle=on ./..."},
		{"pytest -q", nil, ""},
		{"cargo test", nil, ""},
		{"make test", nil, ""},
	} {
		got, ok := Shuffled(tt.line, repoOf(tt.repo...))
		if want := tt.want != ""; ok != want || ok && got != tt.want || !ok && got != tt.line {
			t.Errorf("`%s`: `%s`, %v; want `%s`", tt.line, got, ok, tt.want)
		}
	}
}
