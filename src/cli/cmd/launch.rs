//! `launch`: a gate of kind `kernel` runs this in a process of its own. People do not.

use std::path::PathBuf;

use serde_json::json;

use crate::cli::Reply;
use crate::cli::ui::Text;
use crate::model::Result;
use crate::session::launching::{self, Part};

/// Arguments of `launch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What of the gate
    #[arg(value_parser = ["inputs", "first", "second"])]
    pub part: String,
    /// The request that the gate wrote
    pub request: PathBuf,
    /// Where reports go
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
}

/// Does it.
///
/// # Errors
/// The request is none; files cannot be written.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let part = match args.part.as_str() {
        "inputs" => Part::Inputs,
        "first" => Part::First,
        _ => Part::Second,
    };
    let exit = launching::launch(part, &args.request, &args.out)?;
    Ok(Reply::new(json!({"exit": exit}), Text::new()).exit(exit))
}
