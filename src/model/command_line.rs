//! A command and its arguments as one line that a shell would read back.

/// Joins arguments, quoted where a shell needs it.
pub fn join<S: AsRef<str>>(argv: &[S]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+^".contains(c);
    let quoted = argv.iter().map(|a| {
        if !a.as_ref().is_empty() && a.as_ref().chars().all(plain) {
            return a.as_ref().to_owned();
        }
        // The only thing that cannot be quoted is a NUL, which no argument of a process holds.
        let argument = a.as_ref().replace('\0', "\u{fffd}");
        shlex::try_quote(&argument).map_or_else(|_| argument.clone(), std::borrow::Cow::into_owned)
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::join;

    #[test]
    fn a_shell_reads_it_back() {
        let argv = ["sh", "-c", "echo 'a b'; exit 3", ""];
        assert_eq!(shlex::split(&join(&argv)).unwrap(), argv);
        assert_eq!(join(&["make", "-j2", "CC=gcc"]), "make -j2 CC=gcc");
    }
}
