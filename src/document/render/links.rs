//! Which addresses a rendered document may lead to.

/// Where an address leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// `http:` or `https:`.
    Web,
    /// `mailto:`.
    Mail,
    /// `#part` of the same document.
    Fragment,
    /// A place beside the document.
    Relative,
    /// Everything else: other schemes, other hosts without a scheme, nothing at all.
    Refused,
}

/// Reads an address as browsers do: white space and control characters around and inside of it do not count, a
/// backslash before a host is a slash, the scheme's case is nothing.
pub fn target(url: &str) -> Target {
    let bare: String = url.chars().filter(|c| !c.is_control() && !c.is_whitespace() && !hides(*c)).collect();
    let slashes = bare.chars().take_while(|c| matches!(c, '/' | '\\')).count();
    if bare.is_empty() || slashes > 1 || bare.starts_with('\\') {
        // `//host` takes the page's scheme, which on a disk is `file:`.
        return Target::Refused;
    }
    if bare.starts_with('#') {
        return Target::Fragment;
    }
    match bare.find([':', '/', '?', '#']) {
        Some(at) if bare[at..].starts_with(':') => match bare[..at].to_ascii_lowercase().as_str() {
            "http" | "https" => Target::Web,
            "mailto" => Target::Mail,
            _ => Target::Refused,
        },
        _ => Target::Relative,
    }
}

/// Whether an address is a picture that stands in itself, of a kind that can hold no script.
pub fn is_embedded_picture(url: &str) -> bool {
    let lower = url.get(..url.len().min(32)).unwrap_or_default().to_ascii_lowercase();
    let kinds = ["data:image/png;base64,", "data:image/jpeg;base64,", "data:image/gif;base64,"];
    let Some(head) = kinds.iter().chain(&["data:image/webp;base64,"]).find(|k| lower.starts_with(**k)) else {
        return false;
    };
    url[head.len()..].bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
}

/// Characters that hide or reorder others: bidirectional controls, zero-width ones but joiners.
pub(super) fn hides(c: char) -> bool {
    matches!(
        c,
        '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_web_mail_and_what_stands_beside_are_led_to() {
        for (url, expected) in [
            ("https://example.org/a:b", Target::Web),
            ("HTTP://example.org", Target::Web),
            ("mailto:a@example.org", Target::Mail),
            ("#fix", Target::Fragment),
            ("../a.md#x", Target::Relative),
            ("a.md?x=javascript:1", Target::Relative),
            ("docs/a:b", Target::Relative),
            ("javascript:alert(1)", Target::Refused),
            ("JaVaScRiPt:alert(1)", Target::Refused),
            (" \u{1}java\nscript\t:alert(1)", Target::Refused),
            ("java\u{200b}script:alert(1)", Target::Refused),
            ("vbscript:x", Target::Refused),
            ("data:text/html,<script>", Target::Refused),
            ("file:///etc/passwd", Target::Refused),
            ("//evil.example", Target::Refused),
            ("/\\evil.example", Target::Refused),
            ("\\\\evil.example\\share", Target::Refused),
            (":x", Target::Refused),
            ("", Target::Refused),
        ] {
            assert_eq!(target(url), expected, "{url:?}");
        }
    }

    #[test]
    fn pictures_that_can_hold_scripts_are_refused() {
        assert!(is_embedded_picture("data:image/png;base64,iVBORw0KGgo="));
        assert!(is_embedded_picture("DATA:image/WebP;base64,AAAA"));
        for url in [
            "data:image/svg+xml;base64,AAAA",
            "data:image/png;base64,AA\"onload=x",
            "data:image/png,<svg>",
            "data:text/html;base64,AAAA",
            "https://example.org/a.png",
        ] {
            assert!(!is_embedded_picture(url), "{url}");
        }
    }
}
