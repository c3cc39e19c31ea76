# Says whether every input is a plain finite number.
{ for (i = 1; i <= NF; i++) if ($i !~ /^-?[0-9]+(\.[0-9]+)?$/) { print "line " NR ": " $i; bad = 1 } else n++ }
END { print n " inputs are finite numbers" (bad ? ", others are not" : ""); exit bad }
