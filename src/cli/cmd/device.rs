//! `device`: what this program knows of GPUs, for a look by hand and for its own child processes. Not shown in help.

use serde_json::{Value, json};

use crate::cli::Reply;
use crate::cli::ui::{Style, Text};
use crate::device::cuda::probe::{self, Health};
use crate::model::{Error, Kind, Result};

/// Arguments of `device`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with a device.
#[derive(Debug, clap::Subcommand)]
pub enum Action {
    /// Try the CUDA driver in this process, which may die of it
    Probe,
}

/// Does it.
///
/// # Errors
/// The device fails.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    match args.action {
        Action::Probe => probed(&probe::look()),
    }
}

/// Always exits with 0 when it lives: what was found is the answer.
fn probed(health: &Health) -> Result<Reply> {
    let view = serde_json::to_value(health)
        .map_err(|e| Error::new(Kind::Bug, "the probe's answer is no JSON").because(e))?;
    let mut text = Text::new();
    match health {
        Health::Here { devices, nvrtc } => {
            for device in devices {
                text.push(Style::Bold, format!("cuda:{} {}", device.ordinal, device.name));
                let (major, minor) = (device.driver / 1000, device.driver % 1000 / 10);
                text.add_line(format!(
                    " {}, compute capability {}.{}, {} MiB, driver for CUDA {major}.{minor}",
                    device.uuid,
                    device.capability / 10,
                    device.capability % 10,
                    device.memory_bytes >> 20,
                ));
            }
            let nvrtc = nvrtc.as_deref().unwrap_or("none found");
            text.add_line(format!("NVRTC: {nvrtc}"));
        }
        Health::Absent { why } => text.add_line(format!("no CUDA device: {why}")),
        Health::Broken { why } => text.add_line(format!("CUDA does not work here: {why}")),
    }
    Ok(Reply::new(view_of(view), text))
}

fn view_of(view: Value) -> Value {
    if view.is_object() { view } else { json!({}) }
}
