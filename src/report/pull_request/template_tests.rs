//! Templates of the shapes that projects have, written for this test.

use super::tests::{PLAIN, incident, write_into};
use super::*;

/// A bot deletes everything from the strong line on.
const DELETED_BELOW: &str = "\
<!-- markdownlint-disable -->
## Purpose

## Test Plan

## Test Result

---
<details>
<summary> What a good description holds </summary>

- [ ] The purpose of the change
- [ ] The command that was run

</details>

<!-- the next line is read by a bot -->
**BEFORE SUBMITTING, PLEASE READ THE GUIDE** (anything below this line will be removed)
";

/// Headings of the fourth level with comments, and two fenced notes of which a bot reads the first.
const NOTES: &str = "\
<!--  Thanks for the change! Some hints:
1. read the guide
-->

#### What kind of change is this?

<!-- one of: bug, cleanup -->

#### What this PR does / why we need it:

#### Which issue(s) this PR is related to:
<!-- a number, or \"none\" -->

#### Does this PR introduce a user-facing change?
<!-- write NONE into the block when it does not -->
```release-note

```

#### More documentation

```docs

```
";

/// A ticket, a problem, and a checklist for each kind of device.
const DEVICES: &str = "\
### Ticket
Link to the ticket

### Problem description
Say what is wrong.

### What's changed
Say what you did about it.

### Checklist
- [ ] [All post commit](https://ci.example.org/all) passes
- [ ] [Blackhole](https://ci.example.org/bh) passes (if applicable)
- [ ] New tests cover the changes
";

/// Prose only.
const PROSE: &str = "Fixes #ISSUE_NUMBER\n";

/// A declaration made of boxes, and a note at the end that nobody closed.
const DECLARATION: &str = "\
# New contributor declaration
- [ ] I am not making a trivial change
- Select one:
  - [ ] I have added tests
  - [ ] no tests are needed

<!-- maintainers: see the guide
";

fn filled(template: &str) -> String {
    let body = write_into(&incident(PLAIN), PLAIN, Some(template)).body;
    assert!(markers::find(&body).is_ok_and(|f| !f.edited()), "{body}");
    assert!(body.ends_with("Incident: ffffffffffff\n"), "{body}");
    body
}

fn order(body: &str, parts: &[&str]) {
    let mut at = 0;
    for part in parts {
        let found = body[at..].find(part);
        assert!(found.is_some(), "{part:?} does not come next in\n{body}");
        at += found.unwrap_or_default() + part.len();
    }
}

const BEGIN: &str = "<!-- git-incident:begin";
const END: &str = "<!-- git-incident:end -->";

#[test]
fn the_block_stands_above_what_a_bot_deletes() {
    let body = filled(DELETED_BELOW);
    order(
        &body,
        &[
            "## Purpose\n\nsoftmax returns NaN",
            "Every row with an input above 709",
            "## Test Plan\n\n`python3 check.py` shows the bug",
            "## Test Result\n",
            "</details>\n\n<!-- git-incident:begin",
            END,
            "\n\nIncident: ffffffffffff\n\n<!-- the next line is read by a bot -->\n**BEFORE SUBMITTING",
            "Incident: ffffffffffff\n",
        ],
    );
    // What the bot leaves ends in the trailer, too.
    let left = &body[..body.find("**BEFORE").unwrap()];
    assert!(
        left.replace("<!-- the next line is read by a bot -->\n", "")
            .trim_end()
            .ends_with("Incident: ffffffffffff")
    );
    assert!(!body.contains("## Summary"), "the template's own heading has it");
}

#[test]
fn release_notes_are_filled_and_comments_stay() {
    let body = filled(NOTES);
    order(
        &body,
        &[
            "#### What this PR does / why we need it:\n\nsoftmax returns NaN",
            "#### Which issue(s) this PR is related to:\n\nGPU-123\n\n<!-- a number",
            "```release-note\nsoftmax no longer returns NaN\n\n```",
            "```docs\n\n```",
            BEGIN,
        ],
    );
    let plain = incident(PLAIN);
    let none = Standing::default();
    let mut input = PullRequestInput::new(&plain, &none);
    input.template = Some(NOTES);
    assert!(text(&input).body.contains("```release-note\nNONE\n\n```"));
    input.release_note = Some("```\n<!-- git-incident:end -->\nfaster ~~~\n");
    assert!(text(&input).body.contains("```release-note\n'''\nfaster ---\n\n```"));
}

#[test]
fn checklists_are_for_people() {
    let body = filled(DEVICES);
    order(
        &body,
        &[
            "### Ticket\n\nGPU-123\n\nLink to the ticket",
            "### Problem description\n\nsoftmax returns NaN",
            "### What's changed\n\n- Shift softmax inputs",
            "- [ ] [All post commit](https://ci.example.org/all) passes\n",
            "- [ ] New tests cover the changes\n\n<!-- git-incident:begin",
        ],
    );
    let template_part = &body[..body.find(BEGIN).unwrap()];
    assert!(!template_part.contains("[x]"), "{body}");
}

#[test]
fn prose_is_kept_and_nothing_is_swallowed() {
    let body = filled(PROSE);
    assert!(body.starts_with("Fixes #ISSUE_NUMBER\n\n<!-- git-incident:begin"), "{body}");
    // An open comment would hide all that follows.
    order(
        &filled(DECLARATION),
        &["no tests are needed\n\n<!-- git-incident:begin", END, "<!-- maintainers: see"],
    );
}

#[test]
fn the_block_is_never_inside_of_anything() {
    for (template, next) in [
        ("# A\n\n<details>\n<summary>x</summary>\n\ntext\n", "<details>"),
        ("# A\n\n```\ncode\n", "```\ncode"),
        ("# A\n\n~~~~\n```\n", "~~~~"),
        ("# A\n\n<div align=\"center\">\n\ntext\n\n</div>\n\n# B\n\n<table>\n\n", "<table>"),
        ("# A\n\n<!-- one -->\n\n<!-- two\n\n# B\n", "<!-- two"),
    ] {
        let body = filled(template);
        order(&body, &[END, &format!("\n\n{next}")]);
    }
    // Closed again, the end is safe.
    let closed = "<details>\n\n# Summary\n\n</details>\n\n```\ncode\n```\n";
    let body = filled(closed);
    order(&body, &["# Summary\n\n</details>", "```\n\n<!-- git-incident:begin", END]);
}

#[test]
fn a_template_can_name_the_place() {
    let body = filled("# Top\n\n<!-- git-incident -->\n\n# Bottom\n");
    order(&body, &["# Top\n\n<!-- git-incident -->\n\n<!-- git-incident:begin", END, "\n\n# Bottom\n\n"]);
}

#[test]
fn line_ends_and_marks_are_kept() {
    let body = filled("\u{feff}## Summary\r\n\r\nSay it.\r\n");
    assert!(body.starts_with("## Summary\r\n\nsoftmax returns NaN"), "{body}");
    assert!(body.contains("\r\nSay it.\r\n\n<!-- git-incident:begin"), "{body}");
    let body = filled("Summary:\n\nTest plan:");
    order(&body, &["Summary:\n\nsoftmax", "\n\nTest plan:\n\n`python3 check.py` shows", BEGIN]);
}

#[test]
fn one_heading_is_filled_once() {
    let body = filled("# Summary\n\n# Description\n");
    order(&body, &["# Summary\n\nsoftmax", "# Description\n\n<!-- git-incident:begin"]);
}

#[test]
fn as_github_shows_it_everything_is_there() {
    let page = html::page("Shift softmax", &filled(DELETED_BELOW));
    for part in [
        "<td>gate <code>correctness</code></td>",
        "<details>\n<summary>1 attempt</summary>",
        "<summary> What a good description holds </summary>",
        "<h2>Before and After</h2>",
        "checked",
        "Assisted-by: some-agent<br />",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("git-incident:begin"), "comments are not shown");
}
