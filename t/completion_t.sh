#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Completion of the tool: what bash offers is what the tool accepts.
. "${srcdir:-.}/t/tap.sh"
lacks bash "completion" && { done_testing; exit; }

# offered WORD...: what completes the last word, on one line
offered() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _ompjit; echo "${COMPREPLY[*]}"' - "$srcdir/doc/ompjit.bash" \
        "$ompjit" "$@"
}
# is_taken WORD COMMAND...: the tool, given COMMAND, has nothing against WORD
is_taken() {
    tap_word=$1; shift
    out=$("$@" </dev/null 2>&1)
    case $? in 0) return ;; esac
    case $out in
    *"needs a FILE"* | *"needs a PROGRAM"* | *"needs a command"* | *"cannot read"* | \
        *"$tap_word needs "* | *"needs -o"* | *"no input files"* | \
        *"needs --threads"* | *"--sass needs"*) ;;
    *) fail "$* is taken" "$out" ;;
    esac
}

commands=$(offered "")
like "$commands" "^run compile .*help$" "commands"
for command in $commands; do
    is_taken "$command" "$ompjit" "$command"
done
for command in $(offered help ""); do
    succeeds "help $command" "$ompjit" help "$command"
done
for word in $(offered cache ""); do
    "$ompjit" cache "$word" x y >/dev/null 2>"$tmp/stderr"
    is "$(grep -c "no command" "$tmp/stderr")" 0 "cache $word is a command"
done
is "$(offered cache list "")" "" "nothing follows cache list"

for command in run compile inspect explain tune exec doctor devices table; do
    options=$(offered $command -)
    like "$options" "--[a-z]" "options of $command"
    for option in $options; do
        is_taken "$option" "$ompjit" $command "$option"
    done
    # All that help lists, but what has its value attached.
    for option in $("$ompjit" help $command | grep -oE '^ +(-., )?--?[-a-z]+' |
        grep -oE -- '--?[-a-z]+$' | grep -vxE -- '-(std|fopenmp-version|f)'); do
        case " $options " in
        *" $option "*) ;;
        *) fail "$command: $option is offered" "$options" ;;
        esac
    done
done

program=$tmp/x.c
echo 'int main(void) { return 0; }' >"$program"
for option in --device --host-memory --specialize --assembler --cuda-compiler \
    --arch; do
    values=$(offered run $option "")
    like "$values" "[a-z]" "values of $option"
    is "$(offered run $option = "")" "$values" "  also behind a sign"
    is "$(offered run $option =)" "$values" "  and at it"
    for value in $values; do
        "$ompjit" run $option "$value" "$program" >"$tmp/stdout" 2>"$tmp/stderr" ||
            like "$(cat "$tmp/stderr")" "libcuda|GPU" "  $value is taken"
    done
done
is "$(offered compile --arch "" | tr ' ' '\n' | sort)" \
    "$(sed -nE 's/^(ARCH|HOST)\("([^"]*)".*/\2/p' \
        "$srcdir/libompjit/targets/arch.def" | sort)" "all architectures"
for value in $(offered compile --emit ""); do
    "$ompjit" compile --emit "$value" "$program" -o "$tmp/out" 2>"$tmp/stderr"
    is "$(grep -c -- --emit "$tmp/stderr")" 0 "--emit $value is taken"
done
for value in $(offered explain --fold ""); do
    succeeds "--fold $value" "$ompjit" explain --fold "$value" "$program"
done
for value in $(offered run --dump "" | sed 's/cubin://'); do
    "$ompjit" run --dump "$value" --arch sm_90 "$program" >"$tmp/stdout" \
        2>"$tmp/stderr"
    is "$(grep -c "stages are" "$tmp/stderr")" 0 "--dump $value is taken"
done
cp "$program" "$tmp/x.cpp"
for word in $(offered compile -std) $(offered compile -fopenmp-v); do
    case $word in *++*) source=$tmp/x.cpp ;; *) source=$program ;; esac
    succeeds "$word" "$ompjit" compile "$word" --emit=ll -o - "$source"
done

is "$(offered run "$program" -)" "" "what follows a program's name is its own"
is "$(offered exec /bin/true -)" "" "  and what follows an executable's"
like "$(offered exec tru)" "^(.* )?true( |$)" "programs of PATH"
is "$(offered compile "$program" --emi)" "--emit" "  but not a source's"
is "$(offered run --emi)" "" "an option of another command"
is "$(offered devices --teams "")" "" "its value"
is "$(offered run --threads "")" "" "a number"
done_testing
