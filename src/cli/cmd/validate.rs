//! `validate`: run the gates that are due for a commit, or find what they said before.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::hook::{print, styled};
use crate::cli::live::Live;
use crate::cli::ui::Text;
use crate::cli::{Reply, open_session};
use crate::hook::table;
use crate::model::status::Verdict;
use crate::model::{Error, Oid, Result};
use crate::session::Session;
use crate::session::validate::{GateResult, Options, Report, Subject, Waited};
use crate::validate::verdict::{combine, exit_code};

/// Arguments of `validate`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The commit to judge; HEAD when left out
    pub commit: Option<String>,
    /// Judge B, with what changed since it left A (A..B)
    #[arg(long, conflicts_with = "commit", value_name = "A..B")]
    pub range: Option<String>,
    /// Judge as on a protected ref: its own version of the gates, nothing left over, and no gate at all is a failure
    #[arg(long)]
    pub require: bool,
    /// Only this gate, due or not (may be repeated)
    #[arg(long = "gate", value_name = "ID")]
    pub gates: Vec<String>,
    /// Start it in the background and return
    #[arg(long, conflicts_with = "wait")]
    pub background: bool,
    /// Wait for what runs in the background, and judge by what it recorded
    #[arg(long)]
    pub wait: bool,
    /// The background process itself
    #[arg(long, hide = true)]
    pub request: Option<PathBuf>,
}

/// Judges.
///
/// # Errors
/// No such commit or gate; a configuration that is wrong or not trusted; an interruption.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let session = open_session()?;
    if let Some(request) = &args.request {
        let (_held, subjects) = session.take_request(request)?;
        return judge(&session, &subjects, Options::default(), false);
    }
    let mut subject = subject(&session, &args)?;
    let one_named = args.range.is_some() || args.require || !args.gates.is_empty();
    subject.only = args.gates;
    known_gates(&session, &subject)?;
    if args.background {
        session.start_background(std::slice::from_ref(&subject))?;
        let tree = session.repo.tree_of(&subject.commit)?;
        let text = format!(
            "judging {} in the background; wait for it: git incident validate --wait {0}\n",
            subject.commit.short()
        );
        let view = json!({"verdict": Verdict::NotRun, "records": [], "background": tree, "log": session.background_log(&tree)});
        return Ok(Reply::new(view, text));
    }
    if args.wait
        && let Waited::Ended(subjects) = wait(&session, &subject.commit)?
    {
        let mut asked: Vec<Subject> = subjects.into_iter().filter(|s| s.commit == subject.commit).collect();
        if one_named || asked.is_empty() {
            asked = vec![subject];
        }
        return judge(&session, &asked, Options { deadline: None, failures_stand: true }, args.require);
    }
    judge(&session, &[subject], Options::default(), args.require)
}

/// Waits for the background, and shows what it says.
fn wait(session: &Session, commit: &Oid) -> Result<Waited> {
    let mut live = Live::new(print);
    let mut said = String::new();
    session.wait_for_background(commit, &mut |last| {
        if said != last {
            last.clone_into(&mut said);
            live.waiting(last);
        }
    })
}

fn subject(session: &Session, args: &Args) -> Result<Subject> {
    if let Some(range) = &args.range {
        session.subject_of_range(range, args.require)
    } else {
        let commit = session.repo.resolve_commit(args.commit.as_deref().unwrap_or("HEAD"))?;
        session.subject_of(&commit, args.require)
    }
}

fn known_gates(session: &Session, subject: &Subject) -> Result<()> {
    let config = session.config_at(&subject.commit)?;
    for id in &subject.only {
        if config.gate(id).is_none() {
            let known: Vec<&str> = config.gates.iter().map(|g| g.id.as_str()).collect();
            let mut error = Error::usage(format!("there is no gate {id:?} at {}", subject.commit.short()));
            error = if known.is_empty() {
                error.because("no gates are configured there")
            } else {
                error.hint(format!("there are: {}", known.join(", ")))
            };
            return Err(error);
        }
    }
    Ok(())
}

fn judge(session: &Session, subjects: &[Subject], options: Options, require: bool) -> Result<Reply> {
    let mut live = Live::new(print);
    let reports = session.validate(subjects, options, &mut |step| live.show(&step));
    drop(live);
    let reports = reports.into_iter().collect::<Result<Vec<Report>>>()?;
    let verdict = combine(reports.iter().map(Report::verdict));
    let configured = reports.iter().any(|r| r.configured);
    let verdict = if require && !configured { Verdict::NotRun } else { verdict };
    let mut text = Text::new();
    for line in reports.iter().flat_map(table::lines) {
        text = styled(text, &line);
    }
    if !configured {
        text.add_line("no gates are configured: there is no [[gate]] in .git-incident.toml");
    } else if reports.iter().all(|r| r.results.is_empty()) {
        text.add_line("no gate is due for what changed");
    }
    let commits: Vec<&Oid> = reports.iter().map(|r| &r.subject.commit).collect();
    let records: Vec<Value> = reports.iter().flat_map(|r| &r.results).map(view).collect();
    let changes: Vec<Value> = reports
        .iter()
        .flat_map(|r| &r.changes)
        .map(|(gate, change)| json!({"gate": gate, "change": change.word()}))
        .collect();
    let remarks: Vec<&String> = reports.iter().flat_map(|r| &r.remarks).collect();
    let view = json!({
        "verdict": verdict, "commits": commits, "records": records, "changes": changes, "remarks": remarks,
    });
    Ok(Reply::new(view, text).exit(exit_code(verdict)))
}

fn view(result: &GateResult) -> Value {
    json!({
        "gate": result.gate,
        "verdict": result.verdict,
        "device": result.device,
        "tree": result.tree,
        "record": result.record,
        "reason": result.reason,
        "because": result.because,
        "cached": result.cached,
        "pending": result.deferred,
        // Decimal seconds as text: views hold no floating-point numbers.
        "seconds": format!("{}.{:03}", result.millis / 1000, result.millis % 1000),
        "command": result.command,
        "details": result.details,
        "signed_by": result.signed_by,
        "notes": result.notes,
        "commit": result.commit,
    })
}
