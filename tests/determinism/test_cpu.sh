#!/bin/sh
# Another CPU: a setting makes glibc use neither FMA nor AVX2. Its libm then has other bits, which is checked first.
# troupe has the same fingerprint, and each case the same hashes. A troupe that was built with libm instead of SLEEF must
# have another fingerprint and, in some case, other hashes: so these comparisons can fail.
#
# And no code on which states depend chooses by the CPU: neither libtroupe, of which ODE is a part, nor SLEEF's functions.
# On arm64, whose processors all have FMA, ODE may have been compiled with it; troupe and SLEEF's functions must not be.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/matrix.sh"

# The names since glibc 2.33, and the older ones.
tunables=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX2_Usable,-FMA_Usable,-FMA4_Usable
math=$("$troupe" --version | sed -n 's/^mathematics //p')
other_cases=0

# elsewhere COMMAND...: runs the command as on another CPU
elsewhere() { (export GLIBC_TUNABLES=$tunables && "$@"); }

libm_bits() { python3 -c 'import math; print(hash(tuple(f(i * 0.37) for i in range(50000) for f in (math.sin, math.cos))))'; }

compare_case()
{
	runnable || { skip "$name" "$missing" && return; }
	steps=$(amount 200 500 $((steps < 700 ? steps : 700)) "$steps")
	run_reference
	elsewhere run "$scratch/other" "$world" "$commands" "$steps" --hash-every 100 --secondaries 2
	if [ "$math" = libm ]; then
		cmp -s "$reference" "$scratch/other" || other_cases=$((other_cases + 1))
	else
		compare "$name without FMA and AVX2" "$reference" "$scratch/other"
	fi
}

check_cpus()
{
	need python3 || return
	bits=$(libm_bits) other_bits=$(elsewhere libm_bits)
	[ -n "$bits" ] && [ -n "$other_bits" ]
	report $? "libm's bits are known: $bits, $other_bits"
	if [ "$bits" = "$other_bits" ]; then
		skip 'another CPU' "here libm has the same bits with FMA and AVX2 switched off"
		return
	fi
	other=$(elsewhere "$troupe" --version | sed -n 's/^fingerprint //p')
	for_each_case compare_case
	if [ "$math" = libm ]; then
		[ "$other" != "$fingerprint" ]
		report $? "with libm the fingerprint shows another CPU: $other"
		echo "with libm $other_cases cases have other hashes without FMA and AVX2"
		[ $other_cases -gt 0 ]
		report $? 'with libm some case has other hashes'
	else
		[ "$other" = "$fingerprint" ]
		report $? "the fingerprint without FMA and AVX2: $other, and with them $fingerprint"
	fi
}

# no_choice WHAT CODE: the disassembled code has no FMA, and does not ask which CPU this is
no_choice()
{
	[ "$(grep -c '^ ' "$2")" -gt 20 ]
	report $? "$1: is code"
	! grep -E "[[:space:]]($choosing)" "$2"
	report $? "$1: no FMA and no choice by the CPU"
}

check_code()
{
	library=${BUILD_DIR:-.}/.libs/libtroupe.so
	objdump=${OBJDUMP:-objdump} nm=${NM:-nm} readelf=${READELF:-readelf}
	need "$objdump" && need "${nm%% *}" && need "$readelf" || return
	machine=$("$readelf" -h "$library" | sed -n 's/^ *Machine: *//p')
	case $machine in
	*X86-64)
		choosing='vfn?m(add|sub)|cpuid|xgetbv'
		# troupe's own solver asks how many lanes there are instructions for, by way of two functions of the compiler's library
		"$objdump" -d --no-show-raw-insn "$library" | awk '/^[0-9a-f]+ </ { chooses = /<(lanes_kernel_of|__cpu_indicator_init|get_available_features.*)>:$/ } !chooses' \
			>"$scratch/code"
		;;
	AArch64)
		choosing='fn?m(add|sub)|fml[as]|fcmla|mrs.*id_aa64'
		find "${BUILD_DIR:-.}/src" -name '*.o' -path '*/.libs/*' -exec "$objdump" -d --no-show-raw-insn {} + >"$scratch/code"
		;;
	*) skip 'the code' "it is for $machine" && return ;;
	esac
	no_choice libtroupe "$scratch/code"
	! "$readelf" -r "$library" | grep IRELATIV
	report $? 'libtroupe: no function that is chosen when it is loaded'
	[ "$math" = SLEEF ] || return
	sleef=$("$readelf" -d "$library" | sed -n 's/.*(NEEDED).*\[\(libsleef\.so.*\)\]/\1/p')
	# word splitting is meant: a command line
	# shellcheck disable=SC2086
	sleef=$(${TEST_CC:-cc} -print-file-name="$sleef")
	functions=$($nm -D --undefined-only "$library" | awk '$2 ~ /^Sleef_/ { print $2 }')
	[ "$(echo "$functions" | grep -c Sleef_cinz_)" -ge 6 ] && ! echo "$functions" | grep -v Sleef_cinz_
	report $? "libtroupe calls SLEEF's functions without FMA, and no others: $functions"
	for function in $functions; do
		"$objdump" -d --no-show-raw-insn --disassemble="$function" "$sleef" >"$scratch/code"
		no_choice "$function" "$scratch/code"
		! grep -E '[[:space:]](call|jmp +\*|blr?[[:space:]]|br[[:space:]])' "$scratch/code"
		report $? "$function calls nothing"
	done
}

check_code
check_cpus
totals
