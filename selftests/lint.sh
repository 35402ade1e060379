#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh KERNEL [style]: what make lint does, or make style, once the tools for it
# are there.

set -u

cd "$(dirname "$0")/.." || exit 1
kernel=${1:-6.1}
only=${2:-}
build=${BUILD:-$PWD/build}
failed=0

# step NAME COMMAND...: shows its output if it fails
step()
{
	local name=$1 out rc
	shift

	out=$("$@" 2>&1)
	rc=$?
	if [ $rc -ne 0 ]; then
		printf '%s\n' "$out"
		echo "lint: $name: FAILED"
		failed=1
	else
		echo "lint: $name: ok"
	fi
}

# W=1 is the Makefile's own; sparse only speaks, so its words are the failure.
sparse_module()
{
	local out

	out=$(make --no-print-directory module KERNEL="$kernel" C=2 CHECK=sparse 2>&1) || {
		echo "$out"
		return 1
	}
	! grep -E '(warning|error): ' <<< "$out"
}

# Rules that do not fit, everywhere and in user space:
#   FILE_PATH_CHANGES           there is no MAINTAINERS
#   EMBEDDED_FUNCTION_NAME      functions are named with ordinary words
#   ENOSYS                      a test may give it back
#   SPLIT_STRING                help texts, and JSON in tests
#   STATIC_CONST_CHAR_ARRAY     argument vectors
#   ARRAY_SIZE, MINMAX, PREFER_*  the kernel's macros are not there
#   EMBEDDED_FILENAME           usage comments of fuzz targets
IGNORE=FILE_PATH_CHANGES,EMBEDDED_FUNCTION_NAME
USER_IGNORE=$IGNORE,ENOSYS,SPLIT_STRING,STATIC_CONST_CHAR_ARRAY,ARRAY_SIZE,MINMAX
USER_IGNORE+=,PREFER_FALLTHROUGH,PREFER_DEFINED_ATTRIBUTE_MACRO,EMBEDDED_FILENAME

# Elsewhere than in a git tree, where it would leave a file.
checkpatch()
{
	local ignore=$1 out rc
	shift

	out=$(cd "$build/include/scripts" && perl checkpatch.pl --no-tree --no-summary \
		--terse --show-types --max-line-length=100 --ignore "$ignore" \
		-f "${@/#/$PWD/}" 2>&1)
	rc=$?
	sed "s,$PWD/,," <<< "$out"
	return "$rc"
}

user_files()
{
	find tools uapi selftests -name '*.[chS]' -o -name '*.sh' -o -path '*/qemu/init' | sort
}

checkpatch_user()
{
	# shellcheck disable=SC2046	# no odd names here
	checkpatch "$USER_IGNORE" $(user_files)
}

checkpatch_module()
{
	# shellcheck disable=SC2046
	checkpatch "$IGNORE" $(find kmod -name '*.[ch]' | sort)
}

# The harness's macros are beyond it.
cppcheck_user()
{
	# shellcheck disable=SC2046
	cppcheck --quiet --std=c11 --enable=warning,performance,portability \
		--inline-suppr --error-exitcode=1 --suppress=missingInclude \
		--suppress=missingIncludeSystem --suppress=duplicateAssignExpression \
		-D_GNU_SOURCE -D__x86_64__ -Iuapi -Itools -Iselftests -j 2 \
		$(grep -L 'kselftest_harness' $(find tools selftests -name '*.c'))
}

shellcheck_all()
{
	# shellcheck disable=SC2046
	shellcheck -x -P SCRIPTDIR -S style .ci/run selftests/qemu/init \
		$(find selftests kmod -name '*.sh')
}

[ "$only" = style ] || step sparse sparse_module
step "checkpatch, module" checkpatch_module
step "checkpatch, user space" checkpatch_user
step shellcheck shellcheck_all
[ "$only" = style ] || step cppcheck cppcheck_user
exit $failed
