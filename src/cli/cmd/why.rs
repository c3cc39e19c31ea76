//! `why`: which incidents touched this line, and what became of it.

use serde_json::{Value, json};

use super::list::one_line;
use crate::cli::ui::{Style, Text};
use crate::cli::{Reply, open_session};
use crate::model::Result;
use crate::model::outcome::Bug;
use crate::session::why::{Answer, How, Touch};

/// Arguments of `why`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file or folder; a line with PATH:10, some with PATH:10,20, a function with <PATH:/name>/
    #[arg(value_name = "PATH[:LINE[,LINE]]")]
    pub place: String,
}

/// Says it. None is an answer, too.
///
/// # Errors
/// No such file, line or function.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    let answer = session.why(&args.place)?;
    if !answer.known && answer.touches.is_empty() {
        return Err(crate::model::Error::refused(format!(
            "there is no file {:?}, there never was one in HEAD's history, and no incident names it",
            answer.spot.path
        ))
        .hint("name it from where you are: git incident why PATH[:LINE]"));
    }
    Ok(Reply::new(view(&answer), text(&answer)).paged())
}

fn range(lines: Option<(u64, u64)>) -> Value {
    lines.map_or(Value::Null, |(first, last)| json!([first, last]))
}

fn view(answer: &Answer) -> Value {
    let matches = answer.touches.iter().map(|t| {
        json!({
            "incident": t.incident, "title": t.title, "ticket": t.ticket, "status": t.status,
            "attempt": t.attempt.as_ref().map(|(_, n, _)| n), "attempt_id": t.attempt.as_ref().map(|(id, ..)| id),
            "hypothesis": t.attempt.as_ref().map(|(_, _, text)| text),
            "outcome": t.outcome.map(|o| json!({"hypothesis": o.hypothesis, "bug": o.bug})),
            "conclusion": t.conclusion, "reverted": t.reverted, "commit": t.commit, "role": t.role,
            "how": t.how.as_str(), "at": t.at, "lines": t.lines,
        })
    });
    json!({
        "path": answer.spot.path, "lines": range(answer.spot.lines), "function": range(answer.spot.function),
        "former": answer.former, "gone": answer.spot.gone, "failed": answer.failed().len(),
        "summary": summary(answer), "matches": matches.collect::<Vec<_>>(), "remarks": answer.remarks,
    })
}

fn text(answer: &Answer) -> Text {
    let mut text = Text::new();
    let spot = &answer.spot;
    let mut place = if spot.path.is_empty() { ".".to_owned() } else { spot.path.clone() };
    if let Some((first, last)) = spot.lines {
        place.push_str(&if first == last { format!(":{first}") } else { format!(":{first}-{last}") });
    }
    text.push(Style::Bold, one_line(&place));
    if let Some((first, last)) = spot.function {
        text.push(Style::Dim, format!("  in the function of lines {first}-{last}"));
    }
    if spot.gone {
        text.push(Style::Dim, "  no longer there");
    }
    if !answer.former.is_empty() {
        text.push(Style::Dim, format!("  formerly {}", one_line(&answer.former.join(", "))));
    }
    text.push(Style::Plain, "\n");
    text.add_line(one_line(&summary(answer)));
    for touch in &answer.touches {
        one(&mut text, touch);
    }
    for remark in &answer.remarks {
        text.push(Style::Dim, format!("{remark}\n"));
    }
    text
}

fn one(text: &mut Text, touch: &Touch) {
    text.push(Style::Plain, "\n");
    text.push(Style::Dim, format!("{} ", touch.at.to_minute()));
    text.push(Style::Cyan, touch.incident.short());
    if !touch.ticket.is_empty() {
        text.push(Style::Bold, format!(" [{}]", one_line(&touch.ticket)));
    }
    text.push(Style::Bold, format!(" {}\n", one_line(&touch.title)));
    match (&touch.attempt, touch.role) {
        (Some((_, ordinal, headline)), _) => {
            let (style, state) = match (touch.outcome, &touch.reverted) {
                (None, _) => (Style::Yellow, "running".to_owned()),
                (Some(_), Some(by)) => (Style::Red, format!("reverted by {}", by.short())),
                (Some(o), None) => match o.bug {
                    Bug::Fixed => (Style::Green, "fixed it".to_owned()),
                    Bug::Remains => (Style::Red, "failed".to_owned()),
                    Bug::Unknown => (Style::Yellow, format!("{}, bug unknown", o.hypothesis)),
                },
            };
            text.push(Style::Dim, format!("{:<12} ", format!("  attempt {ordinal}")));
            text.push(style, state);
            text.push(Style::Plain, format!(": {}\n", one_line(headline)));
        }
        (None, Some(role)) => text.field("  linked", &format!("as {role}, {}", touch.status)),
        (None, None) => text.field("  incident", touch.status.as_str()),
    }
    text.field("  because", &one_line(&touch.conclusion));
    let commit = touch.commit.as_ref().map_or_else(String::new, |c| format!("{} ", c.short()));
    let lines: Vec<String> = touch
        .lines
        .iter()
        .take(6)
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}-{b}") })
        .collect();
    let place = if lines.is_empty() { String::new() } else { format!(", lines {}", lines.join(", ")) };
    let how = match touch.how {
        How::Blame => "wrote lines of today",
        How::History => "changed it; what it wrote is gone again",
        How::Unmerged => "is on no branch that was merged",
        How::Diff => "the working tree of the attempt had changed it",
        How::Untracked => "the attempt brought a file of that name",
        How::Named => "the incident names it",
    };
    text.field("  how", &format!("{commit}{how}{place}"));
}

/// `Three attempts failed here; the last one because …`
fn summary(answer: &Answer) -> String {
    let failed = answer.failed();
    let place = if answer.spot.range().is_some() { "here" } else { "in it" };
    let others = answer.touches.len() - failed.len();
    let Some(last) = failed.first() else {
        return match others {
            0 => format!("no incident has touched {}", if place == "here" { "these lines" } else { "it" }),
            1 => format!("one incident or attempt was {place}, and none failed"),
            n => format!("{} incidents or attempts were {place}, and none failed", in_words(n)),
        };
    };
    let mut text = match failed.len() {
        1 => format!("One attempt failed {place}"),
        n => format!("{} attempts failed {place}", capital(&in_words(n))),
    };
    if !last.conclusion.is_empty() {
        let one = if failed.len() == 1 { ", because " } else { "; the last one because " };
        text.push_str(one);
        text.push_str(last.conclusion.trim_end_matches('.'));
    }
    text
}

fn in_words(n: usize) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    WORDS.get(n).map_or_else(|| n.to_string(), |w| (*w).to_owned())
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
