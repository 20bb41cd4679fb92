# Lists the skips of a run by reason, with the tests, from ctest's output and its LastTest.log.
#   awk -f skipped.awk SUMMARY LastTest.log
# A test skips as a whole (the summary has "***Skipped", the log "Passed"), or single cases or steps of it do. Tests
# print the reasons: GoogleTest below "FILE:LINE: Skipped", scripts as "skipped: REASON", unittest as "skipped
# 'REASON'".

function skip(reason) {
  sub(/[[:space:]]+$/, "", reason)
  if (reason == "") reason = "no reason is given"
  reasons_here[reason]++
  any = 1
}

# A test ended: its reasons go to the table.
function take(whole, reason) {
  if (whole && !any) skip("")
  for (reason in reasons_here) {
    if (!(reason in count)) order[++reasons] = reason
    count[reason] += reasons_here[reason]
    where[reason] = where[reason] " " test (whole ? "" : "*")
    if (whole) whole_tests[test]
    delete reasons_here[reason]
  }
  if (whole) ++wholes
  else if (any) ++parts
  any = 0
}

FNR == NR {
  if (/\*\*\*Skipped/) {
    sub(/ *\.*\*\*\*Skipped.*/, "")
    sub(/.*#[0-9]+: /, "")
    skipped_whole[$0]
  }
  next
}
/^[0-9]+\/[0-9]+ Test(ing)?: / { test = $NF; next }
/^Output:$/ { inside = 1; any = expected = 0; next }
/^<end of output>$/ { inside = 0; next }
/^Test (Passed|Failed)\.$/ { take(test in skipped_whole); next }
!inside { next }
expected { expected = 0; skip($0); next }
/: Skipped$/ { expected = 1; next }
/^[Ss][Kk][Ii][Pp][Pp][Ee][Dd]: / { sub(/^[A-Za-z]+: /, ""); skip($0); next }
/ \.\.\. skipped ['"]/ { sub(/.* \.\.\. skipped ['"]/, ""); sub(/['"]$/, ""); skip($0) }

END {
  if (!reasons) { print "   nothing"; exit }
  for (i = 1; i <= reasons; ++i) {
    reason = order[i]
    names = split(where[reason], name, " ")
    printf "   %s\n", (length(reason) > 93 ? substr(reason, 1, 90) "..." : reason)
    line = sprintf("      %d in", count[reason])
    for (j = 1; j <= names; ++j) {
      if (length(line " " name[j]) > 96) { print line; line = "        " }
      line = line " " name[j]
    }
    print line
  }
  printf "   %d tests skipped as a whole, %d in part (marked *)\n", wholes, parts
}
