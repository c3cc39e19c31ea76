//! `compare`: two tensors, or two files of them: do they match, how far are they apart, and where.

use crate::cli::Reply;
use crate::cli::ui::{Style, Text};
use crate::model::{Error, Kind as Class, Result};
use crate::session::compare::answer::{Named, answer, figures, passed, view};
use crate::session::compare::device::{self, Choice};
use crate::session::compare::{Kind, Place, Request, Rules};
use crate::validate::tensor::{Declared, Dtype};

/// How many tensors are shown in full.
const SHOWN_WHOLE: usize = 3;

/// Which rule holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PolicyWord {
    /// |candidate − reference| ≤ atol + rtol·|reference|
    Allclose,
    /// Every bit the same
    Bitwise,
    /// At most twice the baseline's own error against the reference
    Baseline,
}

/// Which device compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DeviceWord {
    /// Whatever is there
    Auto,
    /// The processor
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// Arguments of `compare`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Files: .npy, .npz, .safetensors; any other with --dtype and --shape. FILE:TENSOR chooses one tensor;\n\
                  two files with several are compared by the tensors' names.\n\
                  Exit codes: 0 it matches, 4 it does not, 1 a file cannot be compared, 2 usage\n\
                  Example: git incident compare ref.safetensors out.safetensors --rtol 1e-3 --atol 1e-5"
)]
pub struct Args {
    /// What is right
    #[arg(value_name = "REF", help = "What is right: FILE or FILE:TENSOR")]
    pub reference: String,
    /// What is judged
    #[arg(value_name = "CAND", help = "What is judged: FILE or FILE:TENSOR")]
    pub candidate: String,
    /// The rule
    #[arg(long, value_enum, default_value = "allclose")]
    pub policy: PolicyWord,
    /// Absolute tolerance; that of torch.testing for the elements' type when left out
    #[arg(long, allow_negative_numbers = true, value_parser = tolerance)]
    pub atol: Option<f64>,
    /// Relative tolerance; that of torch.testing for the elements' type when left out
    #[arg(long, allow_negative_numbers = true, value_parser = tolerance)]
    pub rtol: Option<f64>,
    /// NaN matches NaN
    #[arg(long)]
    pub equal_nan: bool,
    /// Another implementation's result, for --policy baseline
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<String>,
    /// The most that ‖candidate − reference‖ / ‖reference‖ may be
    #[arg(long, value_name = "CAP", allow_negative_numbers = true, value_parser = tolerance)]
    pub norm: Option<f64>,
    /// What --policy baseline allows beside twice the baseline's error, in steps of the candidate's type
    #[arg(long, allow_negative_numbers = true, value_parser = tolerance)]
    pub slack: Option<f64>,
    /// The type of raw files, and of 16-bit and 8-bit floats that numpy has no name for: f32, bf16, e4m3, …
    #[arg(long, value_parser = dtype)]
    pub dtype: Option<Dtype>,
    /// The shape of raw files: 2,128 (empty for a scalar)
    #[arg(long, value_parser = shape)]
    pub shape: Option<Lengths>,
    /// The factors of an 8-bit candidate
    #[arg(long, value_name = "FILE", help = "The factors of an 8-bit candidate: FILE or FILE:TENSOR")]
    pub scale: Option<String>,
    /// The factors of an 8-bit reference
    #[arg(long, value_name = "FILE")]
    pub reference_scale: Option<String>,
    /// How many elements along each of the last axes share a factor: 1,128
    #[arg(long, value_parser = block)]
    pub block: Option<Lengths>,
    /// How many of the worst elements are shown
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub worst: u16,
    /// Which device compares
    #[arg(long, value_enum, default_value = "auto")]
    pub device: DeviceWord,
    /// Show histogram and worst elements although everything matches
    #[arg(long)]
    pub details: bool,
}

/// Lengths of axes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths(Vec<u64>);

/// Compares.
///
/// # Errors
/// A file cannot be read or compared; options that contradict each other.
pub fn run(args: Args, _json: bool) -> Result<Reply> {
    let request = request(&args)?;
    let device = device::open(match args.device {
        DeviceWord::Auto => Choice::Auto,
        DeviceWord::Cpu => Choice::Cpu,
        DeviceWord::Cuda => Choice::Cuda,
    })?;
    let all = answer(&request, &*device)?;
    let exit = if passed(&all) { 0 } else { Class::GateFailed.exit_code() };
    Ok(Reply::new(view(&all, usize::from(args.worst)), text(&all)).exit(exit))
}

fn request(args: &Args) -> Result<Request> {
    let kind = match args.policy {
        PolicyWord::Allclose => Kind::Allclose,
        PolicyWord::Bitwise => Kind::Bitwise,
        PolicyWord::Baseline => Kind::Baseline,
    };
    let set = [
        ("--atol", args.atol.is_some(), kind == Kind::Allclose),
        ("--rtol", args.rtol.is_some(), kind == Kind::Allclose),
        ("--slack", args.slack.is_some(), kind == Kind::Baseline),
        ("--baseline", args.baseline.is_some(), kind == Kind::Baseline),
    ];
    if let Some((option, ..)) = set.iter().find(|(_, set, used)| *set && !used) {
        let only = if matches!(*option, "--atol" | "--rtol") { "allclose" } else { "baseline" };
        return Err(Error::usage(format!("{option} has a meaning with --policy {only} only"))
            .hint(format!("leave it out, or add --policy {only}")));
    }
    if kind == Kind::Baseline && args.baseline.is_none() {
        return Err(Error::usage("--policy baseline needs --baseline")
            .hint("name the file with the result of an implementation that is known to be good"));
    }
    if args.shape.is_some() && args.dtype.is_none() {
        return Err(Error::usage("--shape needs --dtype").hint("a raw file says neither"));
    }
    if args.block.is_some() && args.scale.is_none() && args.reference_scale.is_none() {
        return Err(Error::usage("--block needs --scale or --reference-scale")
            .hint("it says how many elements share a factor"));
    }
    let place = |text: &Option<String>| text.as_deref().map(Place::typed);
    Ok(Request {
        reference: Place::typed(&args.reference),
        candidate: Place::typed(&args.candidate),
        baseline: place(&args.baseline),
        scale: place(&args.scale),
        reference_scale: place(&args.reference_scale),
        declared: Declared { dtype: args.dtype, shape: args.shape.clone().map(|shape| shape.0) },
        block: args.block.clone().map(|block| block.0),
        rules: Rules {
            kind,
            atol: args.atol,
            rtol: args.rtol,
            norm: args.norm,
            slack: args.slack,
            equal_nan: args.equal_nan,
            worst: Some(usize::from(args.worst)),
            details: args.details,
        },
    })
}

/// The answer first, then what is behind it. Of several tensors a line each, and the first that do not match in full.
fn text(all: &[Named]) -> Text {
    let mut text = Text::new();
    if let [one] = all {
        return whole(text, one);
    }
    let failing: Vec<&Named> = all.iter().filter(|named| !named.comparison.passed).collect();
    text = match failing.len() {
        0 => text.styled(Style::Green, "match").line(format!(": all {} tensors", all.len())),
        count => text.styled(Style::Red, "mismatch").line(format!(": {count} of {} tensors", all.len())),
    };
    let width = all.iter().map(|named| name(named).chars().count()).max().unwrap_or(0);
    for named in all {
        let (style, word) =
            if named.comparison.passed { (Style::Green, "pass") } else { (Style::Red, "fail") };
        text = text.plain("  ").styled(style, word);
        text.add_line(format!("  {:<width$}  {}", name(named), figures(&named.comparison)));
    }
    for named in failing.iter().take(SHOWN_WHOLE) {
        text = whole(text.line("").styled(Style::Bold, name(named)).line(""), named);
    }
    if failing.len() > SHOWN_WHOLE {
        let more = failing.len() - SHOWN_WHOLE;
        text.add_line(format!("\nand {more} more; choose one to see it whole: FILE:TENSOR"));
    }
    text
}

/// A tensor's name on one line, whatever the file has put into it.
fn name(named: &Named) -> String {
    named.name.as_deref().unwrap_or_default().escape_debug().to_string()
}

fn whole(text: Text, named: &Named) -> Text {
    let (style, word) =
        if named.comparison.passed { (Style::Green, "match") } else { (Style::Red, "mismatch") };
    let mut text = text.styled(style, word).plain(": ");
    for (at, line) in named.comparison.lines().iter().enumerate() {
        text.add_line(if at == 0 { line.clone() } else { format!("  {line}") });
    }
    text
}

fn tolerance(text: &str) -> std::result::Result<f64, String> {
    let number: f64 =
        text.trim().parse().map_err(|_| "a decimal number is needed, such as 1e-3".to_owned())?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err("it must be finite and not negative".into())
}

fn dtype(text: &str) -> std::result::Result<Dtype, String> {
    Dtype::parse(text).ok_or_else(|| match Dtype::closest(text) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("there are {}", Dtype::all().map(Dtype::name).collect::<Vec<_>>().join(", ")),
    })
}

fn lengths(text: &str, low: u64) -> std::result::Result<Lengths, String> {
    if text.trim().is_empty() {
        return Ok(Lengths(Vec::new()));
    }
    let number = |part: &str| part.trim().parse().ok().filter(|length: &u64| *length >= low);
    let all: Option<Vec<u64>> =
        text.trim_matches(['[', ']', '(', ')']).split([',', 'x']).map(number).collect();
    all.map(Lengths).ok_or_else(|| format!("whole numbers are needed, none below {low}, such as 2,128"))
}

fn shape(text: &str) -> std::result::Result<Lengths, String> {
    lengths(text, 0)
}

fn block(text: &str) -> std::result::Result<Lengths, String> {
    lengths(text, 1)
}
