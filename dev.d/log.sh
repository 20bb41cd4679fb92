# shellcheck shell=bash
# The output of apt, CMake and Ninja goes to a log; the terminal shows the step, its progress and the time left.

log=''  # build/log/COMMAND.log once it is open

open_log() {
  [ -z "$log" ] || return 0
  log=build/log/$command.log
  mkdir -p build/log
  : >"$log"
}

# logged COMMAND…: runs it with its output in the log.
logged() {
  open_log
  printf '+ %s\n' "$*" >>"$log"
  "$@" 2>&1 | follow
}

# Copies standard input to the log. Shows the progress reported by lines of Ninja, "[3/40] …", and of apt's status,
# "dlstatus:1:20.5:…": on a terminal on one line that changes, elsewhere on a new line every 15 seconds.
follow() {
  local line kind='' seen finished all now began=$SECONDS shown=$SECONDS every=15 open=no
  [ ! -t 1 ] || every=1
  while IFS= read -r line || [ -n "$line" ]; do
    printf '%s\n' "$line" >&3
    if [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\  ]]; then
      seen=build finished=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]} now="$finished of $all built"
    elif [[ $line =~ ^dlstatus:[^:]*:([0-9]+) ]]; then
      seen=download finished=${BASH_REMATCH[1]} all=100 now="$finished % downloaded"
    elif [[ $line =~ ^pmstatus:[^:]*:([0-9]+) ]]; then
      seen=install finished=${BASH_REMATCH[1]} all=100 now="$finished % installed"
    else
      continue
    fi
    [ "$seen" = "$kind" ] || kind=$seen began=$SECONDS
    if [ "$finished" -eq 0 ] || [ "$finished" -ge "$all" ] || [ $((SECONDS - shown)) -lt "$every" ]; then continue; fi
    shown=$SECONDS
    now+=", about $(((SECONDS - began) * (all - finished) / finished)) s left"
    if [ -t 1 ]; then
      printf '\r   %s\033[K' "$now"
      open=yes
    else
      printf '   %s\n' "$now"
    fi
  done 3>>"$log"
  [ "$open" = no ] || printf '\r\033[K'
}

# Prints the end of the log: the output of the last command; of Ninja from the first step that failed.
log_end() {
  [ -n "$log" ] || return 0
  awk '/^\+ / { n = failed = 0 }
    { line[++n] = $0; if (!failed && /^FAILED: /) failed = n }
    END {
      i = failed ? failed : n > 30 ? n - 29 : 1
      for (last = i + 60; i <= n && i < last; ++i) print "   " line[i]
    }' "$log" >&2
}

# log_die MESSAGE: prints the end of the log, then ends ./dev as `die` does.
log_die() {
  log_end
  die "$* (the end of $log is above)"
}
