//! `pr --open`: a draft on GitHub, opened or updated after an explicit yes. Nothing is pushed; nothing is ever
//! merged, closed, approved or made ready.

use serde_json::{Value, json};

use crate::cli::Reply;
use crate::cli::ui::{self, Style, Text};
use crate::forge::{Decision, Request};
use crate::model::incident::Incident;
use crate::model::{Error, Oid, Result};
use crate::report::pull_request::gates::Proof;
use crate::session::Session;
use crate::session::documents::Range;
use crate::session::opening::{OpenOptions, Opening};
use crate::session::pull_request::PullRequestDraft;

use super::text::gate_view;

/// Arguments of `pr --open`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct OpenArgs {
    /// Open it as a draft on GitHub, or update the one of this branch
    #[arg(long)]
    pub open: bool,
    /// With --open: print the requests and send nothing
    #[arg(long, requires = "open")]
    pub dry_run: bool,
    /// With --open: do not ask
    #[arg(long, short, requires = "open")]
    pub yes: bool,
    /// With --open: the repository it goes to, when that is not the remote's or its parent
    #[arg(long, value_name = "OWNER/NAME", requires = "open")]
    pub repo: Option<String>,
    /// With --open: put a label on it (may be given several times)
    #[arg(long, value_name = "LABEL", requires = "open")]
    pub label: Vec<String>,
    /// With --open: ask for a review, of a person or ORG/TEAM (may be given several times)
    #[arg(long, value_name = "LOGIN", requires = "open")]
    pub reviewer: Vec<String>,
    /// With --open: put it into a milestone, by its title
    #[arg(long, value_name = "TITLE", requires = "open")]
    pub milestone: Option<String>,
    /// With --open: replace our block although somebody edited it
    #[arg(long, requires = "open")]
    pub force: bool,
    /// With --open: open another one although this branch had one
    #[arg(long, requires = "open")]
    pub again: bool,
}

impl OpenArgs {
    /// Refuses at once what could only be refused after all the work: a yes that nobody can give.
    ///
    /// # Errors
    /// There is no terminal, and no `--yes`.
    pub(super) fn demand_consent(&self) -> Result<()> {
        if !self.open || self.yes || self.dry_run || ui::can_ask() {
            return Ok(());
        }
        Err(Error::refused("opening a pull request needs a yes, and there is no terminal to ask at")
            .hint("see what would be sent: git incident pr --open --dry-run")
            .hint("say yes beforehand: git incident pr --open --yes"))
    }
}

/// Opens or updates it.
///
/// # Errors
/// As the session says; no consent.
pub(super) fn run(
    session: &Session,
    (id, incident): (&Oid, &Incident),
    range: &Range,
    draft: &PullRequestDraft,
    (base, head): (Option<String>, Option<String>),
    args: &OpenArgs,
    past_block: bool,
) -> Result<Reply> {
    let options = OpenOptions {
        base,
        head,
        repository: args.repo.clone(),
        labels: args.label.clone(),
        reviewers: args.reviewer.clone(),
        milestone: args.milestone.clone(),
        force: args.force,
        again: args.again,
    };
    let text = &draft.text;
    let mut opening = session.prepare_opening(range, text, &options, args.dry_run)?;
    if let Some(Decision::Update(pull, _)) = opening.decision.as_ref().filter(|_| past_block) {
        opening.remarks.push(format!(
            "only the block of #{} is replaced: the title, and what you wrote outside of the block, are not sent; edit them on its page",
            pull.number
        ));
    }
    for remark in &opening.remarks {
        ui::remark(remark);
    }
    let requests = opening.requests();
    if args.dry_run {
        return Ok(rehearsed(id, draft, &opening, &requests));
    }
    if requests.is_empty() {
        // Nothing to ask a yes for; recorded all the same, should it have been opened from another clone.
        let opened =
            session.carry_out_opening(id, incident, text, &opening).map_err(|broken| broken.error)?;
        let line = format!("#{} says that already: {}\n", opened.number, opened.url);
        return Ok(Reply::new(view(id, draft, &opening, Some(&opened)), line));
    }
    ui::say(&plan(draft, &opening, &requests));
    if !args.yes {
        let question = match opening.decision {
            Some(Decision::Update(..)) => "Update it? [y/N]",
            _ => "Open it as a draft? [y/N]",
        };
        let answer = ui::ask(question).unwrap_or_default().to_ascii_lowercase();
        if answer != "y" && answer != "yes" {
            return Err(Error::refused("not opened: no yes was given").hint(
                "the text alone: git incident pr; without the question: git incident pr --open --yes",
            ));
        }
    }
    match session.carry_out_opening(id, incident, text, &opening) {
        Ok(opened) => {
            let done = if opened.created { "opened draft" } else { "updated" };
            let mut line = format!("{done} #{}: {}\n", opened.number, opened.url);
            if !opened.draft {
                line.push_str("it is no draft any more: somebody made it ready on its page\n");
            }
            Ok(Reply::new(view(id, draft, &opening, Some(&opened)), line))
        }
        Err(broken) if broken.no_drafts => {
            ui::error(&broken.error);
            let mut view = view(id, draft, &opening, None);
            view["error"] = json!({
                "what": broken.error.what(), "causes": broken.error.causes(),
                "hints": broken.error.hints(), "exit": broken.error.kind().exit_code(),
            });
            let body = format!("Title: {}\n\n{}", opening.wish.title, opening.wish.body);
            Ok(Reply::new(view, body).exit(broken.error.kind().exit_code()))
        }
        Err(broken) => Err(broken.error),
    }
}

fn as_json(request: &Request) -> Value {
    json!({"method": request.method().to_string(), "path": request.target(), "body": request.body()})
}

fn rehearsed(id: &Oid, draft: &PullRequestDraft, opening: &Opening, requests: &[Request]) -> Reply {
    let mut view = view(id, draft, opening, None);
    view["dry_run"] = true.into();
    view["requests"] = requests.iter().map(as_json).collect();
    let mut text = Text::new().line(format!("would be sent to {}:", opening.api));
    for request in requests {
        text.add_line("");
        text.push(Style::Bold, format!("{} {}\n", request.method(), request.target()));
        if let Some(body) = request.body() {
            text.add_line(serde_json::to_string_pretty(body).unwrap_or_default());
        }
    }
    let after = "\nnothing was sent; when GitHub lists an open pull request of yours for this branch, its description is \
                 updated instead: PATCH …/pulls/{pull_number} with our block replaced";
    Reply::new(view, text.line(after))
}

/// What is about to happen, before the question.
fn plan(draft: &PullRequestDraft, opening: &Opening, requests: &[Request]) -> Text {
    let wish = &opening.wish;
    let mut text = Text::new();
    if let Some(Decision::Update(pull, _)) = &opening.decision {
        text.push(Style::Bold, format!("update pull request #{}\n", pull.number));
        text.field("Page", &pull.html_url);
    } else {
        text.push(Style::Bold, "open a draft pull request\n");
        text.field("Title", &wish.title);
    }
    text.field(
        "From",
        &format!("{} {} at {}, pushed", wish.head_repository, wish.branch, opening.tip.short()),
    );
    text.field("To", &format!("{} {}", wish.base_repository, wish.base));
    text.field("Sent to", &format!("{}, with the token from {}", opening.api, opening.token_source));
    for gate in &draft.gates {
        let style = match gate.proof {
            Proof::Counts(_) if gate.ticked() => Style::Green,
            Proof::Counts(_) => Style::Red,
            _ => Style::Yellow,
        };
        let note = if gate.reason.is_empty() { String::new() } else { format!(" ({})", gate.reason) };
        text.push(Style::Dim, format!("{:<12} ", "Gate"));
        text.push(style, format!("{} {}{note}\n", gate.gate, gate.word()));
    }
    match opening.notes.state {
        "synced" => text.field("Notes", "the ledger is there, too"),
        _ => text.field("Notes", &format!("not all there yet, send them: {}", opening.notes.send)),
    }
    text.field("Reviewers", &opening.notes.fetch);
    for request in requests {
        text.field("Request", &format!("{} {}", request.method(), request.target()));
        let body = request.body().and_then(|body| body.get("body")).and_then(Value::as_str);
        match body {
            Some(body) => text.field("", body),
            None => text.field("", &request.body().map(Value::to_string).unwrap_or_default()),
        }
    }
    text
}

fn view(
    id: &Oid,
    draft: &PullRequestDraft,
    opening: &Opening,
    opened: Option<&crate::forge::Opened>,
) -> Value {
    let wish = &opening.wish;
    json!({
        "incident": id,
        "title": wish.title,
        "body": wish.body,
        "repository": wish.base_repository.to_string(),
        "base": wish.base,
        "head_repository": wish.head_repository.to_string(),
        "branch": wish.branch,
        "head": opening.tip,
        "api": opening.api,
        "gates": draft.gates.iter().map(gate_view).collect::<Vec<_>>(),
        "remarks": opening.remarks,
        "notes": {"state": opening.notes.state, "send": opening.notes.send, "fetch": opening.notes.fetch},
        "dry_run": false,
        "number": opened.map(|o| o.number),
        "url": opened.map(|o| o.url.clone()),
        "draft": opened.map(|o| o.draft),
        "created": opened.is_some_and(|o| o.created),
        "changed": opened.is_some_and(|o| o.changed),
        "requests_sent": opening.sent(),
    })
}
