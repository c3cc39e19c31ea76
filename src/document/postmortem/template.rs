//! Templates: ours, and those of a repository, which are hostile input.
//!
//! A repository's template may use the part of the template language that ends: output, `if`, `for`, comments and a few
//! filters that make nothing longer. Fuel bounds the steps of the language and a limit the bytes that are written;
//! neither bounds what one step can build, so whatever builds values (`set`, `~`, lists, macros, recursive loops) is
//! refused before anything runs. Names outside of the context are errors.

use std::io;

use minijinja::{Environment, UndefinedBehavior};
use serde_json::Value;

use super::super::page::{BLOCKS, Page};
use super::blocks;
use crate::model::{Error, Result};

/// The folder of a repository's own templates, in the commit.
pub const FOLDER: &str = ".git-incident/templates";

/// The largest template.
pub const MAX_BYTES: usize = 64 * 1024;

/// The largest document that a template may make.
const MAX_OUTPUT: usize = 4 * 1024 * 1024;

/// Enough for our template with every list at its longest, little enough to end a loop that never does.
const FUEL: u64 = 2_000_000;

/// `if` and `for` inside each other.
const MAX_DEPTH: usize = 32;

/// Characters of one tag.
const MAX_TAG: usize = 1_000;

/// Ours.
pub const BUILT_IN: &str = include_str!("../../../templates/postmortem.md");

/// Where a template comes from, and what it says.
#[derive(Debug, Clone, Copy)]
pub struct Template<'a> {
    /// Its path in the commit; empty for ours.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Renders a template; the document ends with one newline.
///
/// # Errors
/// What the template does wrong, with its line. In ours that is a bug.
pub fn render(template: Template<'_>, context: &Value) -> Result<String> {
    let text = template.text.strip_prefix('\u{feff}').unwrap_or(template.text).replace("\r\n", "\n");
    let failed = |line: usize, why: String| {
        if template.name.is_empty() {
            return Error::bug("the post-mortem template cannot be rendered")
                .because(format!("line {line}: {why}"));
        }
        Error::refused(format!("the template {} cannot be used", template.name))
            .because(format!("line {line}: {why}"))
            .hint("docs/TEMPLATES.md lists what a template may use; a template counts as HEAD has it")
    };
    if text.len() > MAX_BYTES {
        return Err(failed(1, format!("it is larger than {} KiB", MAX_BYTES / 1024)));
    }
    inspect(&text).map_err(|(line, why)| failed(line, why))?;
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    add_filters(&mut environment);
    let broken = |error: &minijinja::Error| {
        let mut why = error.to_string();
        if error.kind() == minijinja::ErrorKind::OutOfFuel {
            "it does not end".clone_into(&mut why);
        }
        if error.kind() == minijinja::ErrorKind::WriteFailure {
            why = format!("it writes more than {} MiB", MAX_OUTPUT / 1024 / 1024);
        }
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            why = format!("{why}: {inner}");
            cause = inner.source();
        }
        failed(error.line().unwrap_or(1), why)
    };
    let name = if template.name.is_empty() { "template" } else { template.name };
    let compiled = environment.template_from_named_str(name, &text).map_err(|e| broken(&e))?;
    let mut out = Bounded(Vec::new());
    compiled
        .render_captured_to(minijinja::value::Serde(context), &mut out)
        .map(drop)
        .map_err(|e| broken(&e))?;
    let text = String::from_utf8(out.0)
        .map_err(|e| Error::bug("a template wrote something else than text").because(e))?;
    Ok(text.trim_end().to_owned() + "\n")
}

/// What a document made by a repository's template lacks, in words.
pub fn lacks(document: &str) -> Vec<String> {
    let page = Page::parse(document);
    let mut found = Vec::new();
    // The four that the standard calls mandatory.
    for title in [BLOCKS[0], BLOCKS[2], BLOCKS[4], BLOCKS[7]] {
        if page.section(title).is_none() {
            found.push(format!("the template writes no block \"{title}\", which every post-mortem has"));
        }
    }
    if blocks::marker(document).is_none() {
        found.push(
            "the template writes no comment <!-- git-incident: incident={{ incident }} profile={{ profile }} -->, \
             by which a document that was moved is known again"
                .to_owned(),
        );
    }
    found
}

/// Filters that make nothing longer than what they are given, or by a small constant.
fn add_filters(environment: &mut Environment<'_>) {
    use minijinja::value::Value;
    fn text(value: &Value) -> Result<&str, minijinja::Error> {
        value.as_str().ok_or_else(|| {
            minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, "this filter takes text only")
        })
    }
    environment.add_filter("lower", |value: Value| text(&value).map(str::to_lowercase));
    environment.add_filter("upper", |value: Value| text(&value).map(str::to_uppercase));
    environment.add_filter("trim", |value: Value| text(&value).map(|t| t.trim().to_owned()));
    environment.add_filter("length", |value: Value| {
        value.as_str().map(|t| t.chars().count()).or_else(|| value.len()).ok_or_else(|| {
            minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, "this has no length")
        })
    });
    environment.add_filter("first", |value: Value| {
        value.try_iter().map(|mut items| items.next().unwrap_or_default())
    });
    environment
        .add_filter("last", |value: Value| value.try_iter().map(|items| items.last().unwrap_or_default()));
}

/// A buffer that refuses to grow too large.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_OUTPUT {
            return Err(io::Error::other("too much output"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Looks at every tag; the first one that may not be there, with its line from 1.
fn inspect(text: &str) -> Result<(), (usize, String)> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(start) =
        text[at..].find("{{").into_iter().chain(text[at..].find("{%")).chain(text[at..].find("{#")).min()
    {
        let start = at + start;
        let line = text[..start].matches('\n').count() + 1;
        let kind = text.as_bytes()[start + 1];
        let inside = start + 2;
        let unclosed = || (line, "a tag is opened and not closed".to_owned());
        if kind == b'#' {
            at = inside + text[inside..].find("#}").ok_or_else(unclosed)? + 2;
            continue;
        }
        let (code, end) = tag(&text[inside..], kind == b'%').ok_or_else(unclosed)?;
        at = inside + end;
        if end > MAX_TAG {
            return Err((line, format!("a tag has more than {MAX_TAG} characters")));
        }
        look(&code, kind == b'%', &mut depth).map_err(|why| (line, why))?;
    }
    Ok(())
}

/// The code of a tag with its strings emptied, and where the tag ends.
fn tag(text: &str, statement: bool) -> Option<(String, usize)> {
    let closing = if statement { "%}" } else { "}}" };
    let mut code = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if text[at..].starts_with(closing) {
            return Some((code, at + 2));
        }
        code.push(c);
        if matches!(c, '"' | '\'') {
            loop {
                match chars.next()?.1 {
                    '\\' => {
                        chars.next()?;
                    }
                    end if end == c => break,
                    _ => {}
                }
            }
        }
    }
    None
}

fn look(code: &str, statement: bool, depth: &mut usize) -> Result<(), String> {
    // `{%-` and `-%}` trim, as do `{%+` and `+%}` the contrary.
    let code = code.strip_prefix(['-', '+']).unwrap_or(code);
    let code = code.strip_suffix(['-', '+']).unwrap_or(code).trim();
    if let Some(odd) = code.chars().find(|c| "~+*[]{}:;\\".contains(*c)) {
        return Err(format!("`{odd}` may not be used here"));
    }
    let words: Vec<&str> =
        code.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).collect();
    if words.contains(&"recursive") {
        return Err("loops may not be recursive".to_owned());
    }
    let keyword = if statement { words.first().copied().unwrap_or_default() } else { "" };
    let rest = match (keyword, code.find(" in ")) {
        ("for", Some(at)) => &code[at..],
        _ => code,
    };
    if rest.contains(',') {
        return Err("`,` may not be used here".to_owned());
    }
    match keyword {
        "" | "elif" | "else" => {}
        "if" | "for" => {
            *depth += 1;
            if *depth > MAX_DEPTH {
                return Err(format!("more than {MAX_DEPTH} blocks stand inside each other"));
            }
        }
        "endif" | "endfor" => *depth = depth.saturating_sub(1),
        other => return Err(format!("`{other}` is no statement that a template may use")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> Result<String> {
        let context =
            json!({"title": "T", "many": vec![0; 3_000], "n": {"a": "x"}, "big": "y".repeat(3_000)});
        render(Template { name: ".git-incident/templates/postmortem-bugfix.md", text }, &context)
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = user(text).expect_err(text);
        let said = format!("{error:?}");
        assert!(said.contains(why), "{text}: {said}");
    }

    #[test]
    fn what_is_allowed_renders() {
        assert_eq!(
            user("# {{ title|lower }}\r\n{# no #}{% if n.a == \"%} ~\" %}a{% else %}b{% endif %}").unwrap(),
            "# t\nb\n"
        );
        assert_eq!(
            user("{%- for x in many -%}{% if loop.first %}{{ many|length }}{% endif %}{%- endfor %}\n\n")
                .unwrap(),
            "3000\n"
        );
    }

    #[test]
    fn what_never_ends_or_grows_without_bound_is_refused() {
        refused(
            "{% for a in many %}{% for b in many %}{% for c in many %}{{ title }}{% endfor %}{% endfor %}{% endfor %}",
            "does not end",
        );
        refused("{% for a in many %}{% for b in many %}{{ big }}{% endfor %}{% endfor %}", "more than 4 MiB");
        for (text, why) in [
            ("a\n{% set a = title %}", "line 2: `set`"),
            ("{{ title ~ title }}", "`~`"),
            ("{{ title * 9 }}", "`*`"),
            ("{{ title + title }}", "`+`"),
            ("{% for a in [many, many] %}{% endfor %}", "`["),
            ("{% for a in (many, many) %}{% endfor %}", "`,`"),
            ("{% for a in many recursive %}{% endfor %}", "recursive"),
            ("{% filter upper %}x{% endfilter %}", "`filter`"),
            ("{% with a = title %}{% endwith %}", "`with`"),
            ("{% raw %}{{ \" }}{% endraw %}{{ title ~ title }}", "`raw`"),
            ("{% include \"/etc/passwd\" %}", "`include`"),
            ("{% import \"../x\" as y %}", "`import`"),
            ("{% macro m() %}{% endmacro %}", "`macro`"),
            ("{{ title", "not closed"),
            ("{{ \"a }}", "not closed"),
            ("{{ nobody }}", "line 1"),
            ("\n\n{{ n.nobody }}", "line 3"),
            ("{{ title|replace(\"a\") }}", "line 1"),
            ("{{ many|upper }}", "text only"),
            ("{{ range(9) }}", "line 1"),
            ("{% if title %}", "line 1"),
        ] {
            refused(text, why);
        }
        refused(&"{% if title %}".repeat(4_000), "inside each other");
        refused(&format!("{{{{ {}title }}}}", "not ".repeat(900)), "1000 characters");
        refused(&format!("{{{{ {}title{} }}}}", "(".repeat(400), ")".repeat(400)), "line 1");
        refused(&"x".repeat(MAX_BYTES + 1), "larger than 64 KiB");
    }

    #[test]
    fn a_chain_of_prefixes_ends() {
        // Whatever it says, it says something.
        let _ = user(&format!("{{{{ {}1 }}}}", "- ".repeat(490)));
        let _ = user(&format!("{{{{ {}1 }}}}", "not ".repeat(240)));
    }

    #[test]
    fn what_a_template_leaves_out_is_said() {
        assert_eq!(lacks("# T\n\n## Summary\n\n## Root cause\n\n## Fix\n").len(), 2);
        let marked = "<!-- git-incident: incident=aa profile=bugfix -->\n## Summary\n## Root cause\n## Fix\n## Validation\n";
        assert_eq!(lacks(marked), Vec::<String>::new());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_template_or_an_error(text in r#"(\{\{|\}\}|\{%|%\}|\{#|#\}|-|"|'|\\|for a in many|if title|else|endif|endfor|title|n\.a|\|| |\n|\(|\)|[a-z~é]{0,3}){0,30}"#) {
            let _ = user(&text);
        }
    }
}
