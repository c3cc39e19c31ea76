//! Text inside a workflow command of GitHub Actions (`::error file=…::message`), so that it stays inside.
//! Format: <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

/// A message: on one line, and never the end of it.
pub fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property: commas and colons would end it.
pub fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_command() {
        assert_eq!(data("100 %\r\n::error::x"), "100 %25%0D%0A::error::x");
        assert_eq!(property("a,b:c%"), "a%2Cb%3Ac%25");
    }
}
