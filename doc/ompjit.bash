# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Completion of ompjit for bash. The options come from `ompjit help COMMAND`.

_ompjit_options() {
    ompjit help "$1" 2>/dev/null | grep -oE '^ +(-[a-z], )?-[^ ]+' |
        grep -oE -- '-[^ ,]+' |
        sed -E 's/^(-[IDULlfWO])[A-Z0-9].*/\1/; s/=[A-Z]+$/=/'
}

_ompjit() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} words=
    if [ "$COMP_CWORD" = 1 ]; then
        words="run compile inspect explain tune devices cache table version help"
    elif [ "$command" = help ]; then
        words="run compile inspect explain tune devices cache table"
    elif [ "$command" = cache ] && [ "$COMP_CWORD" = 2 ]; then
        words="path list stat verify prune clear explain export import"
    else
        case $prev in
        --device) words="host cuda" ;;
        --host-memory) words="shared separate auto" ;;
        --assembler) words="nvjitlink ptxas driver" ;;
        --cuda-compiler) words="nvrtc clang" ;;
        --emit) words="ll bc opt-ll host-ll ptx cubin obj" ;;
        --fold) words="literals teams threads alignment noalias all" ;;
        --dump) words="source-ir host-ir opt ptx cubin: info" ;;
        --arch) words="host sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100 sm_120" ;;
        *) case $cur in -*) words=$(_ompjit_options "$command") ;; esac ;;
        esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -o bashdefault -F _ompjit ompjit
