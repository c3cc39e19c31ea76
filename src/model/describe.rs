//! Commands, machines and gates, as lists and documents show them.

use serde_json::Value;

use super::incident::{GateResult, Incident};

/// A command as a POSIX shell would read it back: arguments quoted only where they must be.
pub fn command(argv: &[String]) -> String {
    let plain = |arg: &str| {
        !arg.is_empty() && arg.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./:=,+@%^".contains(&b))
    };
    argv.iter()
        .map(|arg| if plain(arg) { arg.clone() } else { format!("'{}'", arg.replace('\'', r"'\''")) })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The machine of a recorded environment: its GPUs with their driver, else its processor, else its
/// system; empty when the record does not say. The text is the recorder's and not to be trusted.
///
/// Reads the members `gpus[{name, driver}]`, `cpu`, `cpus`, `os`, `arch`; whatever else stands there
/// is passed over.
pub fn machine(environment: &Value) -> String {
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or_default().trim().to_owned()
    };
    let mut gpus: Vec<(String, usize)> = Vec::new();
    for gpu in environment.get("gpus").and_then(Value::as_array).into_iter().flatten().take(64) {
        let (name, driver) = (text(gpu, "name"), text(gpu, "driver"));
        let label = match (name.is_empty(), driver.is_empty()) {
            (true, _) => continue,
            (false, true) => name,
            (false, false) => format!("{name} (driver {driver})"),
        };
        match gpus.iter_mut().find(|(known, _)| *known == label) {
            Some((_, count)) => *count += 1,
            None => gpus.push((label, 1)),
        }
    }
    if !gpus.is_empty() {
        return gpus
            .iter()
            .map(|(label, count)| if *count == 1 { label.clone() } else { format!("{count} × {label}") })
            .collect::<Vec<_>>()
            .join(", ");
    }
    let cpu = text(environment, "cpu");
    if cpu.is_empty() {
        let parts = [text(environment, "os"), text(environment, "arch")];
        return parts.iter().filter(|p| !p.is_empty()).cloned().collect::<Vec<_>>().join(" ");
    }
    match environment.get("cpus").and_then(Value::as_u64) {
        Some(count) if count > 1 => format!("CPU only: {cpu}, {count} processors"),
        _ => format!("CPU only: {cpu}"),
    }
}

/// The newest result of each gate on each tree and device, in the order of the ledger.
pub fn newest_gates(incident: &Incident) -> Vec<&GateResult> {
    let mut newest: Vec<&GateResult> = Vec::new();
    for gate in incident.gates.iter().rev() {
        let same = |g: &&GateResult| g.gate == gate.gate && g.tree == gate.tree && g.device == gate.device;
        if !newest.iter().any(same) {
            newest.push(gate);
        }
    }
    newest.reverse();
    newest
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn commands_read_back() {
        let argv = ["python3", "run.py", "--n=3", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&argv), r"python3 run.py --n=3 'a b' 'it'\''s' ''");
    }

    #[test]
    fn machines_name_what_counts() {
        let gpu = json!({"vendor": "nvidia", "name": "B200", "driver": "570.1"});
        assert_eq!(machine(&json!({"gpus": [gpu, gpu], "cpu": "x"})), "2 × B200 (driver 570.1)");
        assert_eq!(machine(&json!({"gpus": [], "cpu": "Zen", "cpus": 8})), "CPU only: Zen, 8 processors");
        assert_eq!(machine(&json!({"os": "Debian", "arch": "x86_64"})), "Debian x86_64");
        for odd in [json!(null), json!([1]), json!({"gpus": 3, "cpu": {}}), json!("x")] {
            assert_eq!(machine(&odd), "");
        }
    }
}
