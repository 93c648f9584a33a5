package tool

import "strings"

// builtinRules is the table of commands. A command that it does not name needs a yes.
func builtinRules() (rules, error) {
	rs := rules{}
	for _, t := range []struct {
		tier Tier
		text string
	}{{Free, freeCommands}, {Review, reviewCommands}, {Approve, approveCommands}, {Block, blockedCommands}} {
		var entries []string
		for entry := range strings.FieldsFuncSeq(t.text, func(r rune) bool { return r == ',' || r == '\n' }) {
			if strings.TrimSpace(entry) != "" {
				entries = append(entries, entry)
			}
		}
		if err := rs.add(t.tier, entries, false); err != nil {
			return nil, err
		}
	}
	return rs, nil
}

// freeCommands look, and change nothing outside of the shell that runs them.
const freeCommands = `
	ls, dir, cat, head, tail, wc, grep, egrep, fgrep, zgrep, zcat, rg, find, sort, uniq, cut, tr, diff, diff3, sdiff,
	cmp, comm, join, paste, fold, fmt, nl, tac, rev, column, expand, unexpand, od, hexdump, xxd, strings, file, stat,
	du, df, pwd, cd, pushd, popd, dirs, echo, printf, true, false, :, test, [, date, basename, dirname, realpath,
	readlink, sha1sum, sha224sum, sha256sum, sha384sum, sha512sum, md5sum, cksum, b2sum, sum, shasum, base64, base32,
	seq, sleep, jq, tree, which, type, whereis, id, whoami, groups, logname, uname, nproc, arch, uptime, ps, locale,
	getconf, printenv, hash, help, exit, return, break, continue, shift, set, unset, local, declare, typeset, readonly,
	export, read, mapfile, readarray, getopts, wait, let, umask, ulimit, times, jobs, cal, factor, numfmt, tsort, sed,
	awk, gawk, mawk, nawk, unzip -l, tty, getent, hostname, env
	git status, git log, git diff, git show, git blame, git annotate, git rev-parse, git rev-list, git ls-files,
	git ls-tree, git cat-file, git describe, git shortlog, git grep, git merge-base, git name-rev, git check-ignore,
	git for-each-ref, git show-ref, git diff-tree, git diff-index, git diff-files, git count-objects, git version,
	git branch --list, git branch --show-current, git remote -v, git stash list, git stash show, git config --get,
	git config --list, git tag --list, git worktree list, git var, git whatchanged, git help
	go version, go env, go list, go doc, go help, node --version, npm --version, npm ls, python --version,
	python3 --version, cargo --version, rustc --version, java --version, bash --version, make --version, git --version,
	docker --version, gcc --version, ruby --version, perl --version, php --version`

// reviewCommands run code of the workspace, or make what was not there.
const reviewCommands = `
	mkdir, touch, make, gmake, cmake --build, ninja, gofmt -l, gofmt -d
	sh, bash, dash, zsh, ksh, ash, source, ., python, python3, node, ruby, perl, php, lua, deno test, bun test
	python -m pytest, python3 -m pytest, python -m unittest, python3 -m unittest, python -m compileall,
	python3 -m compileall, python -m json.tool, python3 -m json.tool, python -m mypy, python3 -m mypy
	git add, git commit, git stash, git switch, git branch, git tag, git merge, git init, git checkout -b, git reset,
	git worktree add, git apply --check, git fsck
	go build, go test, go vet, go run, go generate, go fmt, go tool, go fix
	npm test, npm t, npm run, npm start, yarn test, yarn run, yarn build, pnpm test, pnpm run, bun run
	cargo build, cargo test, cargo check, cargo clippy, cargo fmt, cargo run, cargo bench, cargo doc
	pytest, tox, nox, ruff, mypy, pyright, black --check, flake8, pylint, isort --check, eslint, prettier --check, tsc, jest, vitest,
	mocha, rspec, rake, rubocop, phpunit, bats, shellcheck, golangci-lint, staticcheck, mvn test, mvn compile, mvn verify,
	gradle test, gradle build, gradle check, ./gradlew, ./mvnw, dotnet build, dotnet test, swift build, swift test,
	bazel build, bazel test, ctest, uv run, poetry run, bundle exec, gcc, g++, cc, c++, clang, clang++, javac, rustc`

// approveCommands lose something, reach another machine, or run what is only known
// when it runs. Of the commands above they name the uses that are worse.
const approveCommands = `
	rm, rmdir, unlink, shred, mv, cp, ln, install, tee, truncate, dd, chmod, chown, chgrp, chattr, setfacl, patch, rsync,
	split, csplit, tar, zip, unzip, gzip, gunzip, bzip2, xz, zstd, cpio, mktemp, mkfifo, mknod
	curl, wget, ssh, scp, sftp, ftp, nc, ncat, netcat, socat, telnet, aria2c, ping, dig, nslookup, host
	kill, pkill, killall, crontab, at, systemctl, service, launchctl, mount, umount, sysctl, iptables, nft
	apt, apt-get, dpkg, dnf, yum, rpm, apk, pacman, zypper, brew, snap, flatpak, pip, pip3, pipx, uv, poetry, conda, gem,
	bundle, npm, npx, yarn, pnpm, bun, deno, go, cargo, rustup, composer, mvn, gradle, dotnet, bazel, docker, podman,
	kubectl, helm, terraform, tofu, ansible, aws, gcloud, az, gh, glab, twine, git, hg, svn, psql, mysql, sqlite3, redis-cli, mongosh
	find -delete, find -fprint, find -fprint0, find -fprintf, find -fls, find -files0-from
	sort -o, sort --output, sort --compress-program, date -s, date --set, xxd -r, tree -o, tree -R, sed -i, sed --in-place, sed -n -i,
	sed -E -i, rg --pre, rg --hostname-bin, file -C, hash -p, printf -v, hostname -F, hostname -b, ps --info, jq --run-tests
	awk -f, awk -i, gawk -f, gawk -i, gawk -o, gawk -l, gawk -p, gawk -d, mawk -f, sed -f, sed --file, set -o, set -k, mapfile -C, readarray -C, uv run --with, uv run --from
	git push, git pull, git fetch, git clone, git checkout, git restore, git clean, git rebase, git rm, git mv, git config, git remote,
	git submodule, git cherry-pick, git revert, git am, git apply, git gc, git prune, git bisect, git send-email, git worktree, git notes,
	git replace, git lfs, git daemon, git credential, git hook, git maintenance, git sparse-checkout, git symbolic-ref
	npm install, npm ci, npm publish, npm exec, npm uninstall, npm update, go get, go install, go mod, go clean, go work
	git branch -D, git branch -d, git branch --delete, git branch -m, git branch -M, git branch --move, git branch -f, git branch --force,
	git branch -c, git branch -C, git branch --list -D, git branch --list -d, git tag -d, git tag --delete, git tag -f, git tag --force, git reset --hard,
	git reset --merge, git reset --keep, git stash drop, git stash clear, git stash pop, git switch -f, git switch --force,
	git switch --discard-changes, git switch -C, git commit --amend, git checkout -b -f, git checkout -b --force, git diff --output, git log --output,
	git show --output, git diff --ext-diff, git log --ext-diff, git show --ext-diff, git diff --no-index --output, git grep -O,
	git grep --open-files-in-pager, git remote add -v, git remote remove -v, git remote set-url -v, git remote rename -v,
	git cat-file --filters, git cat-file --textconv, git diff --textconv, git tag --list -d, git rev-list --output, git shortlog --output, git diff-tree --output
	git diff-index --output, git diff-files --output, git whatchanged --output, git config --get --global --add, git worktree add -f
	git worktree add -B, git merge --abort, git init --template, git help -w, git help --web
	go env -w, go env -u, go vet -vettool, go build -toolexec, go build -o, go test -exec, go test -toolexec, go test -o, go run -exec, go run -toolexec,
	go list -toolexec, go list -mod=mod, go vet -toolexec, go tool -modfile, go generate -exec, go doc -http
	python -c, python3 -c, python -m, python3 -m, node -e, node -p, node --eval, node --print, node -r, node --require, node --import, ruby -e, ruby -r, ruby -i,
	perl -e, perl -E, perl -i, perl -M, perl -n, perl -p, php -r, lua -e
	make -C, make -f, make --eval, make install, make publish, make deploy, make release, npm run deploy, npm run publish, npm run release
	cargo run --config, ruff --fix, ruff format, eslint --fix, rubocop -a, rubocop -A, cargo clippy --fix, golangci-lint --fix, go fix`

// blockedCommands are no part of any plan.
const blockedCommands = `
	sudo, doas, pkexec, su, run0, shutdown, reboot, halt, poweroff, init, telinit, mkfs, mkfs.*, mkswap, fdisk, sfdisk,
	cfdisk, gdisk, sgdisk, parted, wipefs, blkdiscard, hdparm, insmod, modprobe, rmmod, kexec, passwd, chpasswd, visudo, useradd,
	userdel, usermod, groupadd, adduser, deluser, swapoff, swapon, setenforce, nsenter, chroot, unshare, vipw, vigr
	git push -f, git push --force, git push --mirror, git push --prune, git filter-branch, git filter-repo, git reflog expire, git update-ref`
