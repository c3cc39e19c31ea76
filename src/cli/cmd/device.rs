//! `device`: what this program can do with the GPUs here, for a look by hand and for its own child processes. Not shown
//! in help.

use serde_json::{Value, json};

use crate::cli::Reply;
use crate::cli::ui::{Style, Text};
use crate::device::cuda::compare::bandwidth::Rates;
use crate::model::{Error, Kind, Result};
use crate::session::devices::{self, Health};

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
    /// Hold a device's comparisons against the specification; exits with 1 where they differ
    Conformance {
        /// `cpu`, `cuda` or `cuda:N`
        #[arg(long, default_value = "cuda")]
        device: String,
    },
    /// Measure the first pass of a comparison against the device's own copy rate
    Bandwidth {
        /// `cuda` or `cuda:N`
        #[arg(long, default_value = "cuda")]
        device: String,
        /// How many pairs of elements, a tensor
        #[arg(long, default_value_t = 64 << 20, value_parser = clap::value_parser!(u64).range(1..=1 << 33))]
        elements: u64,
    },
}

/// Does it.
///
/// # Errors
/// There is no such device, or it fails.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    match args.action {
        Action::Probe => probe(&devices::look()),
        Action::Conformance { device } => conformance(&device),
        Action::Bandwidth { device, elements } => {
            let (name, rates) = devices::measure(&device, elements)?;
            Ok(bandwidth(&name, &rates))
        }
    }
}

/// Always exits with 0 when it lives: what was found is the answer.
fn probe(health: &Health) -> Result<Reply> {
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
            text.add_line(format!("NVRTC: {}", nvrtc.as_deref().unwrap_or("none found")));
        }
        Health::Absent { why } => text.add_line(format!("no CUDA device: {why}")),
        Health::Broken { why } => text.add_line(format!("CUDA does not work here: {why}")),
    }
    Ok(Reply::new(view, text))
}

fn conformance(device: &str) -> Result<Reply> {
    let (name, report) = devices::conform(device)?;
    let mut text = Text::new();
    for failure in &report.failures {
        text.push(Style::Red, "differs ");
        text.add_line(failure);
    }
    text.add_line(format!(
        "{name}: {} cases, {} differ, {} pairs of two types not compared there",
        report.cases,
        report.failures.len(),
        report.refused
    ));
    let view = json!({
        "device": name,
        "cases": report.cases,
        "refused": report.refused,
        "failures": report.failures,
    });
    Ok(Reply::new(view, text).exit(i32::from(!report.passed())))
}

fn bandwidth(name: &str, rates: &[Rates]) -> Reply {
    let mut text = Text::new();
    text.add_line(format!("{name}: first pass on pairs that are on the device, and its own copying"));
    if name == "emulated" {
        text.push(Style::Yellow, "No GPU was used: these figures say nothing of one.\n");
    }
    for rate in rates {
        text.add_line(format!(
            "{:<5} {} pairs: pass {:.1} GB/s, copy {:.1} GB/s, ratio {:.3}",
            rate.kind,
            rate.elements,
            rate.pass / 1e9,
            rate.copy / 1e9,
            rate.ratio()
        ));
    }
    let view = |rate: &Rates| -> Value {
        json!({
            "kind": rate.kind,
            "elements": rate.elements,
            "pass_bytes_per_second": rate.pass,
            "copy_bytes_per_second": rate.copy,
            "ratio": rate.ratio(),
        })
    };
    Reply::new(json!({"device": name, "rates": rates.iter().map(view).collect::<Vec<_>>()}), text)
}
