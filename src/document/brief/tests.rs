//! What a brief says, and what it must never say.

use proptest::prelude::*;

use super::{Brief, Channel, brief, holds_code};

const DOCUMENT: &str = "\
# Post-mortem: checkout stalls under load

## Summary

Checkout stopped taking orders for 47 minutes on 2026-03-01. `OrderQueue::drain` held a lock (`src/queue.rs:88`). \
Fixed by PR #812 (commit `1f2d809297c5`).

- **Owner:** Ana Ruiz
- **Ticket:** SHOP-77
- **Status:** resolved

## Impact

One order in five failed (see `dash/board.json`). No order was lost.

## Root cause

The gate in drain_all() kept the lock while it waited.

## Fix

PR #812 lets go of the lock before it waits. The first try, org/shop#790, only hid it.

## Why it slipped through

CI gap: no test runs two workers at once.

## Validation

The load test passes 20 times on 8 nodes. Not retested on ARM.

## Action items

- [ ] Run two workers in the nightly tests. (Bo, SHOP-80)
- [ ] Rename `drain_all` in `src/queue.rs`. (Ana, SHOP-81)
- [x] Add the regression test. (Ana, PR #812)
";

fn of(channel: Channel) -> Brief {
    brief(DOCUMENT, channel)
}

#[test]
fn a_ticket_says_where_it_stands() {
    let made = of(Channel::Ticket);
    assert_eq!(
        made.text,
        "Status: resolved\n\
         Impact: One order in five failed. No order was lost.\n\
         What broke: Checkout stopped taking orders for 47 minutes on 2026-03-01. Fixed by PR #812.\n\
         Why now: CI gap: no test runs two workers at once.\n\
         Owner: Ana Ruiz\n\
         Next steps:\n\
         - Run two workers in the nightly tests. (Bo, SHOP-80)\n\
         - [line 34: say this without code]\n\
         Risk: Not retested on ARM.\n"
    );
    let lines: Vec<usize> = made.left.iter().map(|l| l.line).collect();
    assert_eq!(lines, [5, 34]);
}

#[test]
fn a_chat_message_is_short() {
    let made = of(Channel::Chat);
    assert_eq!(
        made.text,
        "**TL;DR:** Checkout stopped taking orders for 47 minutes on 2026-03-01.\n\
         - One order in five failed.\n\
         - PR #812 lets go of the lock before it waits.\n\
         - The load test passes 20 times on 8 nodes.\n\
         - Run two workers in the nightly tests. (Bo, SHOP-80)\n"
    );
    assert!(made.words < 80);
}

#[test]
fn a_stand_up_takes_three_lines() {
    let made = of(Channel::Standup);
    assert_eq!(made.text.lines().count(), 3);
    assert!(made.text.starts_with("Checkout stopped taking orders"));
}

#[test]
fn an_e_mail_has_a_subject_and_talking_points_are_points() {
    let made = of(Channel::Email);
    assert!(
        made.text.starts_with("Subject: checkout stalls under load\n\nCheckout stopped"),
        "{}",
        made.text
    );
    assert!(made.text.contains("org/shop#790") && made.text.ends_with("Owner: Ana Ruiz\n"), "{}", made.text);
    let points = of(Channel::Meeting).text;
    assert!(points.lines().count() >= 6 && points.lines().all(|l| l.starts_with("- ")), "{points}");
}

#[test]
fn leads_stand_for_headings() {
    let made = brief(
        "**Summary.** The pump skipped a wait. Fixed by PR org/platform#5751, owner Alex.\n\n\
         **Symptom.** Jobs hung at the first step.\n\n**Root cause.** The fast path in `launch` skipped it.\n\n\
         **Fix.** PR #5751 removes the fast path.\n\n**Validation.** Three runs of two hours passed.\n\n\
         **Action items.**\n\n- Add a matrix entry. (Alex, JIRA-12346.)\n",
        Channel::Ticket,
    );
    assert!(made.text.contains("What broke: The pump skipped a wait.\n"), "{}", made.text);
    assert!(made.text.contains("Impact: Jobs hung at the first step.\n"), "{}", made.text);
    assert!(made.text.contains("JIRA-12346"), "{}", made.text);
    // Said in so many words, or not at all: a sentence of the fix is no status.
    assert!(made.text.starts_with("Status: Fixed by PR org/platform#5751, owner Alex.\n"), "{}", made.text);
    let silent =
        brief("## Summary\n\nIt broke.\n\n## Fix\n\nAn earlier try was reverted.\n", Channel::Ticket);
    assert!(silent.text.starts_with("Status: [the document does not say"), "{}", silent.text);
}

#[test]
fn owner_ticket_and_pull_request_of_a_summary_are_kept() {
    let text = "## Summary\n\nThe fast-path skipped a wait. It hung at each step. It is fixed by taking it out. \
                JIRA-12345, PR org/platform#5751, owner Alex (Tada team).\n\n## Symptom\n\nThe job hung.\n";
    let ticket = brief(text, Channel::Ticket).text;
    assert!(ticket.contains("Owner: Alex (Tada team)\n"), "{ticket}");
    for channel in [Channel::Ticket, Channel::Chat, Channel::Email] {
        let made = brief(text, channel).text;
        assert!(made.contains("JIRA-12345, PR org/platform#5751"), "{channel:?}: {made}");
    }
    for (nobody, why) in [("Each owner was told.", "no name"), ("The co-owner Bo knew.", "another word")] {
        let made = brief(&format!("## Summary\n\nIt broke. {nobody}\n"), Channel::Ticket).text;
        assert!(made.contains("Owner: [the document does not say"), "{why}: {made}");
    }
}

#[test]
fn silence_is_said_to_be_silence() {
    for text in ["", "# `x`\n", "```\ncode\n```\n", "- [x] done\n"] {
        for channel in Channel::ALL {
            let made = brief(text, channel);
            assert!(
                !made.text.trim().is_empty() && !made.left.is_empty(),
                "{text:?} {channel:?}: {:?}",
                made.text
            );
        }
    }
}

#[test]
fn code_is_told_from_names_of_products() {
    for code in [
        "see src/main.rs",
        "the tadaLaunchPrepare step",
        "scratchBuf is null",
        "call drain()",
        "a::b",
        "x_y is set",
        "MAX_LEN was 3",
        "commit 1f2d809297c5",
        "commit 1234567",
        "at line 88",
        "lines 88-90",
        "in L88",
        "queue.rs:88",
        "/etc/passwd",
        "~/bin",
        "a/b/c",
        "https://example.org/x",
        "refs/heads",
        "sha256:aa11bb22cc",
        "tag DBG-7af3",
        "numStreams = 2",
        "mean(x) -> y",
        "`x`",
        "Cargo.toml",
        "with --force",
        "$HOME",
        "handle->shared",
        "Repo.blob",
        "C:\\temp",
        "at 0xdeadbeef",
        "libfoo.so.1",
        "libz.so.1.3.1",
        "kernel<<<1,2>>>",
        "cudaMalloc failed",
        "cuMemAlloc",
        "hipMemcpy",
        "ncclSend",
        "HTTPServerError",
        "NullPointerException",
        "with -O3",
        "with -fno-inline",
        "SELECT * FROM users",
        "git revert HEAD",
        "git bisect found it",
        "SIGSEGV",
        "EAGAIN",
        "the makefile",
        "CMakeLists",
    ] {
        assert!(holds_code(code), "{code}");
    }
    for words in [
        "PyTorch on LLM-7B with 8 GPUs",
        "PR #812, JIRA-12345, org/platform#5751",
        "iPhone and macOS users",
        "dumbModel hit it",
        "at 14:05 UTC on 2026-03-01",
        "CI/CD and TCP/IP",
        "3.5 GB/s",
        "1/2 of them",
        "Node.js 20",
        "version 1.2.3",
        "the defaced façade",
        "a 95 % interval",
        "https://github.com/org/repo/pull/12",
        "and/or",
        "https://jira.example.org/browse/SHOP-77",
        "10:30-11:00",
        "example.org was down",
        "e.g. this",
        "ends.",
        "cuBLAS, cuDNN and cuGraph",
        "SIGGRAPH in July",
        "an EMAIL, an Error and the Exception",
        "git keeps it",
        "SELECT few of them",
        "a - b",
        "-5 degrees",
        "the HIP runtime and NCCL",
    ] {
        assert!(!holds_code(words), "{words}");
    }
}

/// Statements around things that must not get out, each with the thing.
fn secret() -> impl Strategy<Value = (String, String)> {
    let name = "zq[a-z]{3,6}";
    prop_oneof![
        name.prop_map(|n| (format!("`{n}`"), n)),
        name.prop_map(|n| (format!("`` {n} ` x ``"), n)),
        "[a-f]{3}[0-9]{4}[a-f0-9]{3,20}".prop_map(|n| (n.clone(), n)),
        name.prop_map(|n| (format!("src/{n}.rs"), n)),
        name.prop_map(|n| (format!("/var/{n}/x"), n)),
        name.prop_map(|n| (format!("{n}.cu:12"), n)),
        name.prop_map(|n| (format!("{n}_init"), n)),
        name.prop_map(|n| (format!("{n}()"), n)),
        name.prop_map(|n| (format!("lib{n}.so.2"), n)),
        name.prop_map(|n| (format!("-{n}"), n)),
        name.prop_map(|n| (format!("{n}<<<1,2>>>"), n)),
        name.prop_map(|n| (format!("Cuda{n}Exception"), n)),
        name.prop_map(|n| (format!("git revert {n}"), n)),
        name.prop_map(|n| (format!("SELECT a FROM {n}"), n)),
        "[a-f]{8}".prop_map(|n| (format!("0x{n}"), n)),
        name.prop_map(|n| (format!("**`{n}`**"), n)),
        name.prop_map(|n| (format!("[`{n}`](x.md)"), n)),
        name.prop_map(|n| (format!("```\n{n}\n```"), n)),
        (7000_u32..9999).prop_map(|n| (format!("line {n}"), n.to_string())),
    ]
}

fn heading() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "# Post-mortem: ",
        "## Summary\n\n",
        "## Impact\n\n",
        "## Fix\n\n- ",
        "**Root cause.** ",
        "## Action items\n\n- ",
        "- **Owner:** ",
        "- **Status:** ",
        "**Ticket:** ",
        "## Why it slipped through\n\n> ",
        "## Validation\n\n- [ ] ",
        "",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn code_never_gets_out_and_limits_hold(
        parts in prop::collection::vec((heading(), secret(), "[a-z (,.]{0,12}", "[a-z ),.]{0,12}", any::<bool>()), 0..12),
    ) {
        let mut text = String::new();
        for (heading, (written, _), before, after, long) in &parts {
            text.push_str(heading);
            text.push_str(before);
            text.push_str(&format!(" ({written}) "));
            text.push_str(after);
            if *long {
                text.push_str(&"many plain words ".repeat(30));
                text.push_str(written);
            }
            text.push_str(". Something else is said here.\n\n");
        }
        for channel in Channel::ALL {
            let made = brief(&text, channel);
            for (_, (_, secret), ..) in &parts {
                prop_assert!(!made.text.contains(secret.as_str()), "{} in\n{}\nof\n{}", secret, made.text, text);
            }
            held(&made, channel)?;
        }
    }

    #[test]
    fn any_text_makes_a_brief(text in any::<String>(), channel in prop::sample::select(Channel::ALL.to_vec())) {
        let made = brief(&text, channel);
        held(&made, channel)?;
        let quiet = made.text.chars().all(|c| c == '\n' || !c.is_control());
        prop_assert!(quiet);
    }
}

fn held(made: &Brief, channel: Channel) -> Result<(), TestCaseError> {
    prop_assert!(
        made.words <= channel.most_words(),
        "{} words for {:?}:\n{}",
        made.words,
        channel,
        made.text
    );
    if channel == Channel::Standup {
        prop_assert!(made.text.lines().count() <= 3, "{}", made.text);
    }
    if channel == Channel::Chat {
        prop_assert!(made.words < 80);
        prop_assert!(made.text.lines().count() <= 5, "{}", made.text);
    }
    Ok(())
}
