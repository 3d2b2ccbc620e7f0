# SPDX-License-Identifier: Apache-2.0
# Sourced by an interactive zsh: Tab appends the candidates for the line to $CANDIDATES, a line
# each, and a line of its own at the end.
PS1=
unset zle_bracketed_paste
fpath=($COMPLETIONS $fpath)
autoload -Uz compinit
compinit -u -D

compadd() {
  # the calls that only ask (-O, -A, -D) are not offers
  if (( ${@[(I)-[OAD]]} == 0 )) || [[ ${@[(i)-[OAD]]} -gt ${@[(i)(-|--)]} ]]; then
    local -a matching
    builtin compadd -O matching "$@"
    print -rl -- $matching >> $CANDIDATES
  fi
  builtin compadd "$@"
}

offer-all() {
  _main_complete
  print -r -- '-- end --' >> $CANDIDATES
  # nothing of it goes into the line
  compstate[insert]= compstate[list]=
}
zle -C offer-all list-choices offer-all
bindkey '^I' offer-all
print -r -- '-- end --' >> $CANDIDATES
