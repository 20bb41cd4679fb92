# shellcheck shell=bash
# Sourced: prints headers of the library, relative to the root.
#   public_headers             for users: framework/, layers/, models/, api/, save those whose head comment says
# "Internal"
#   vendor_includes HEADER…    HEADER, a tab, and a vendor's header that it includes, directly or through ours

all_headers() {
  find framework layers models api -name '*.h' -type f | sort
}

public_headers() {
  all_headers | xargs -r awk '
    function end() { if (file != "" && !internal) print file }
    FNR == 1 { end(); file = FILENAME; head = 1; internal = 0 }
    !/^\/\// { head = 0 }
    head && /Internal/ { internal = 1 }
    END { end() }'
}

vendor_includes() {
  printf '%s\n' "$@" | awk '
    # Sets ours[file] and vendors[file], lines that end with a newline each.
    function look(file, line, name) {
      looked[file] = 1
      while ((getline line <file) > 0) {
        if (line !~ /^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]/) continue
        name = line
        sub(/^[^<"]*[<"]/, "", name)
        sub(/[>"].*$/, "", name)
        if (name ~ /^(cu|nv|mma|cooperative_groups|(driver|library|vector)_types\.h|dnnl|oneapi)/)
          vendors[file] = vendors[file] name "\n"
        else if (line ~ /"/) ours[file] = ours[file] name "\n"
      }
      close(file)
    }
    function visit(file, header, names, count, i) {
      if (seen[header, file]++) return
      if (!(file in looked)) look(file)
      count = split(vendors[file], names, "\n")
      for (i = 1; i < count; ++i) print header "\t" names[i]
      count = split(ours[file], names, "\n")
      for (i = 1; i < count; ++i) visit(names[i], header)
    }
    { visit($0, $0) }'
}
