# Shows Doxygen the comments of a header as this project writes them: the head of the file, lines above a declaration,
# and words behind it, all with // or /* */. Declarations of several names become one line each, so that each gets the
# words.
#   awk -f docs/doxygen_filter.awk HEADER
# Words are not Doxygen's or HTML's commands.
function plain(text) {
  gsub(/\\/, "\\\\\\\\", text)
  gsub(/</, "\\\\<", text)
  return text
}
function declares(name,    line, found) {
  while ((getline line < FILENAME) > 0) found = found || line ~ "^(class|struct) " name "[^A-Za-z0-9]"
  close(FILENAME)
  return found
}
BEGIN {
  copies_or_moves = "^[[:space:]]*((explicit )?[A-Z][A-Za-z0-9]*|[A-Z][A-Za-z0-9]*& operator=)[(]" \
    "(const )?[A-Z][A-Za-z0-9]*&&?( [a-z]+)?[)]( noexcept)?( = (default|delete))?;$"
}
NR == 1 { head = 1 }
head && /^\/\// {
  text = $0
  sub(/^\/\/+ ?/, "", text)
  text = plain(text)
  if (NR == 1) {
    print "/// \\file"
    # "Conv2dProblem: the only way …" describes that class, too.
    if (match(text, /^[A-Z][A-Za-z0-9]+: /) && declares(substr(text, 1, RLENGTH - 2)))
      name = substr(text, 1, RLENGTH - 2)
  }
  described = described "/// " text "\n"
  print "/// " text
  next
}
head && name != "" { printf "/// \\class lenslet::%s\n%s\n", name, described }
{ head = 0 }

/^[[:space:]]*\/\/\/? / { match($0, /\/+/); $0 = substr($0, 1, RSTART - 1) "///" plain(substr($0, RSTART + RLENGTH)) }
# struct GemmArgs {  // words
/\{[[:space:]]+\/\/ / { print "/// " plain(substr($0, index($0, "// ") + 3)); sub(/[[:space:]]+\/\/ .*/, "") }
/[^[:space:]].*[[:space:]]\/\/ / && !/^[[:space:]]*[}#\/]/ {
  at = match($0, /[[:space:]]\/\/ /)
  $0 = substr($0, 1, at) "///< " plain(substr($0, at + RLENGTH))
}
/[;,][[:space:]]+\/\* / { sub(/\/\* /, "/**< ") }

# int p = 0, q = 0;  ///< words
/^[[:space:]]*[A-Za-z_:0-9]+ [a-z_0-9]+( = [^,;()]+)?(, [a-z_0-9]+( = [^,;()]+)?)+;/ {
  declaration = words = $0
  sub(/;.*/, "", declaration)
  sub(/^[^;]*;/, "", words)
  match(declaration, /^[[:space:]]*[A-Za-z_:0-9]+ /)
  type = substr(declaration, 1, RLENGTH)
  count = split(substr(declaration, RLENGTH + 1), names, /, /)
  for (i = 1; i <= count; ++i) print type names[i] ";" words
  next
}

# Copying, moving, destroying and comparing mean what the language defines.
$0 ~ copies_or_moves ||
/^[[:space:]]*(virtual )?~[A-Za-z0-9]+\(\)/ || /^[[:space:]]*friend bool operator[=!]=/ {
  if (!documented) print "/// As the language has it."
}
{ documented = /^[[:space:]]*\/\/\// }
{ print }
