//! docs/RULES.md, made from the rules.

use super::rules::ALL;

/// The page; a test holds docs/RULES.md to it.
pub fn page() -> String {
    let mut out = String::from(
        "# Rules of `git incident postmortem check`\n\n\
         <!-- made from src/document/lint/rules; write it anew with UPDATE_RULES=1 cargo test --lib rules_page -->\n\n\
         A document *follows the standard* when it carries our comment (`<!-- git-incident: incident=… profile=… -->`, \
         as `postmortem draft` writes it) or has three of the mandatory blocks by our names: Summary, Root cause, Fix, \
         Validation. Any other document is read all the same, with the weight in the column *elsewhere*.\n\n\
         Weights are set in `.git-incident.toml`:\n\n\
         ```toml\n[postmortem.rules]\nhedging = \"error\"        # off | note | warning | error\nblame = \"warning\"\n```\n\n\
         A finding is allowed with a reason, on its line or on a line of its own before the block, or for the whole \
         document:\n\n\
         ```markdown\n<!-- git-incident: allow(hedging) the vendor never told us more -->\n\
         <!-- git-incident: allow-file(time-without-zone) one office, one zone -->\n```\n\n\
         `check` exits with 1 when there is an error, with `--strict` also when there is a warning.\n\n\
         | rule | weight | elsewhere | finds |\n|---|---|---|---|\n",
    );
    for rule in ALL {
        let elsewhere = rule.elsewhere.map_or("off", super::Severity::word);
        out.push_str(&format!(
            "| [`{0}`](#{0}) | {1} | {elsewhere} | {2} |\n",
            rule.name,
            rule.severity.word(),
            rule.about
        ));
    }
    for rule in ALL {
        out.push_str(&format!("\n## {}\n\n{}\n", rule.name, wrapped(rule.docs)));
        for (label, example) in [("Found", rule.bad), ("Not found", rule.good)] {
            if !example.is_empty() {
                out.push_str(&format!("\n{label}:\n\n```markdown\n{}\n```\n", wrapped(example.trim_end())));
            }
        }
    }
    out
}

/// Lines of at most 120 characters; only paragraphs are wrapped.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        let mut length = 0;
        for (at, word) in line.split(' ').enumerate() {
            let wide = word.chars().count();
            if at > 0 && length + 1 + wide > 118 {
                out.push('\n');
                if line.starts_with("- ") {
                    out.push_str("  ");
                }
                length = 0;
            } else if at > 0 {
                out.push(' ');
                length += 1;
            }
            out.push_str(word);
            length += wide;
        }
    }
    out
}
