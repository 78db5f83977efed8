# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of ompjit for bash: only what the tool accepts at that place. The
# options, and which of them have a value, come from `ompjit help COMMAND`.

# "OPTION VALUE" for each option of a command, VALUE as help calls it, or nothing.
_ompjit_options() {
    "${COMP_WORDS[0]}" help "$1" 2>/dev/null | awk '/^ +-/ {
        sub(/^ +/, "")
        alias = ""
        if (match($0, /^-[A-Za-z], /)) {
            alias = substr($0, 1, 2)
            $0 = substr($0, 5)
        }
        option = $1
        value = substr($0, length(option) + 1) ~ /^ [^ ]/ ? $2 : ""
        if (option ~ /^-[IDUlLfWO][A-Z0-9]/) {
            value = substr(option, 3)
            option = substr(option, 1, 2)
        } else if (match(option, /=[A-Z]+$/)) {
            value = substr(option, RSTART + 1)
            option = substr(option, 1, RSTART)
        }
        print option, value
        if (alias)
            print alias, value
    }'
}

# The words that an option's value can be; "FILE" where it is a file or a folder.
_ompjit_values() { # OPTION VALUE
    case $1 in
    --device) echo host cuda ;;
    --host-memory) echo shared separate auto ;;
    --specialize) echo off auto now ;;
    --color) echo auto always never ;;
    --assembler) echo nvjitlink ptxas driver ;;
    --cuda-compiler) echo nvrtc clang ;;
    --emit) echo ll bc opt-ll host-ll ptx cubin obj ;;
    --fold) echo literals teams threads sizes alignment noalias all ;;
    --dump) echo source-ir host-ir opt ptx cubin: info ;;
    --arch) echo host sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120 \
        x86-64 x86-64-v3 aarch64 neoverse-v2 ;;
    -O) echo 0 1 2 3 ;;
    -std=) echo c11 c17 c23 gnu11 gnu17 c++17 c++20 c++23 ;;
    -fopenmp-version=) echo 45 50 51 52 60 ;;
    *) case $2 in FILE | DIR | PATH) echo FILE ;; esac ;;
    esac
}

# Where no file can follow.
_ompjit_no_files() { compopt +o default +o bashdefault 2>/dev/null; }

# The words that begin an option: what has to have its value attached, with it.
_ompjit_begin() {
    local option value v
    while read -r option value; do
        case $option in
        -f | -W) ;;
        -O | *=) for v in $(_ompjit_values "$option"); do
                     echo "$option$v"
                 done ;;
        *) echo "$option" ;;
        esac
    done
}

_ompjit_command() { # of COMP_WORDS[1] with options
    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options i word
    local value= names=0 pending= option=
    options=$(_ompjit_options "$command")
    # bash splits --name=value into three words.
    for ((i = 2; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [ "$word" = = ]; then
            pending=$option
        elif [ -n "$pending" ]; then
            pending=
        elif [[ $word == -?* ]]; then
            option=$word pending=
            value=$(awk -v o="$word" '$1 == o { print $2 }' <<<"$options")
            case $word:$value in
            *: | -[OfW]:*) ;; # has none, or only in the same word
            *) pending=$word ;;
            esac
            # -std=VALUE stands in the list with its sign
            [ "${COMP_WORDS[i + 1]}" != = ] || [ -n "$value" ] || option=$word=
        else
            names=$((names + 1))
            case $command in
            run | tune) return ;;
            exec) _command_offset $i 2>/dev/null; return ;;
            esac
        fi
    done
    if [ "$cur" = = ]; then
        cur= pending=$option
    fi
    if [ -n "$pending" ]; then
        value=$(awk -v o="$pending" '$1 == o { print $2 }' <<<"$options")
        word=$(_ompjit_values "$pending" "$value")
        [ "$word" = FILE ] && return
        _ompjit_no_files
    elif [[ $cur == -* ]]; then
        word=$(_ompjit_begin <<<"$options")
        _ompjit_no_files
    else
        case $command:$names in
        doctor:*) ;;
        exec:0) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
        devices:* | table:* | *:[!0]*) _ompjit_no_files ;;
        esac
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$word" -- "$cur")
}

_ompjit() {
    local command=${COMP_WORDS[1]} words=
    COMPREPLY=()
    case $COMP_CWORD:$command in
    1:*) words="run compile cc c++ fc inspect explain tune exec doctor devices cache table version help" ;;
    2:help) words="run compile cc c++ fc inspect explain tune exec doctor devices cache table" ;;
    2:cache) words="path list stat verify prune clear explain export import --help" ;;
    3:cache) case ${COMP_WORDS[2]} in export | import) return ;; esac ;;
    *:cc | *:c++ | *:fc) return ;;
    *:run | *:compile | *:inspect | *:explain | *:tune | *:exec | *:doctor | *:devices | *:table)
        _ompjit_command
        return ;;
    esac
    _ompjit_no_files
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -o bashdefault -F _ompjit ompjit
