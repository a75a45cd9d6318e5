#!/bin/bash
# The original itself as the workspace, as asked for by name: its guarded files hold too.
#
# RUN: --workspace in-place
# EXPECT: action=file-write-create|file-write-data target=*.git/hooks/post-commit
# EXPECT: action=file-write-create|file-write-data target=*.git/config
# EXPECT: action=file-write-data target=*.env
set -u
word=PWN
export word=${word}ED
bad=0

# try LINE: a shell line that has to fail
try() {
	if (eval "$1") 2>/dev/null; then
		echo "SUCCEEDED: $1"
		bad=1
	else
		echo "refused: $1"
	fi
}
echo ordinary >ordinary.txt || exit 2
# shellcheck disable=SC2016 # expanded by try
{
	try 'echo $word >.git/hooks/post-commit'
	try 'echo $word >>.git/config'
	try 'echo $word >.env'
	try 'echo $word >nested/.git/config'
	try 'mv README keys/server.key'
	try 'git config core.fsmonitor ./evil'
	try 'mv .git g2'
	try 'rm -f .env'
}
exit $bad
