
# bash cuts words at = and :, and berth's values have both: the words are put together again.
_berth_words() {
    local word last cur prev list='' before=''
    local words=() split=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        last=$((${#words[@]} - 1))
        if ((last > 0)) && { [[ $word == [=:]* ]] || [[ ${words[last]} == *[=:] ]]; }; then
            words[last]+=$word
        else
            words+=("$word")
        fi
    done
    for word in "${words[@]}"; do
        case $word in
            --*=*) split+=("${word%%=*}" "${word#*=}") ;;
            *) split+=("$word") ;;
        esac
    done
    local COMP_WORDS=("${split[@]}") COMP_CWORD=$((${#split[@]} - 1))
    cur=${split[COMP_CWORD]} prev=${split[COMP_CWORD - 1]}
    # The last of several words behind commas.
    if [[ $cur == *,* ]]; then list=${cur%,*}, cur=${cur##*,}; fi
    _berth "$1" "$cur" "$prev"
    [[ ${#COMPREPLY[@]} -gt 0 ]] || return 0
    COMPREPLY=("${COMPREPLY[@]/#/$list}")
    # Only what follows the last colon is replaced on the line.
    cur=$list$cur
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${cur%"${cur##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
    # A list follows these at once.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=+-] ]]; then
        compopt -o nospace 2> /dev/null
    fi
    return 0
}
complete -F _berth_words -o bashdefault -o default berth
