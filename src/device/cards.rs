//! The GPUs that a gate may be given: who they are, and which of them the person left visible.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{gpu, nvml};

/// Where the compute driver of AMD publishes what it knows.
pub const KFD: &str = "/sys/class/kfd/kfd";

/// One GPU, or one instance of a GPU that is cut into some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Card {
    /// `nvidia` or `amd`.
    pub vendor: String,
    /// `sm_90`, `gfx942`; empty where it does not tell.
    pub arch: String,
    /// The model.
    pub name: String,
    /// Its identity; empty where it has none.
    pub uuid: String,
    /// Its place in the driver's order.
    pub index: u32,
    /// The driver's version.
    pub driver: String,
    /// The newest CUDA the driver serves.
    pub cuda: String,
    /// The number the AMD driver knows it by.
    pub node: Option<u64>,
    /// Whether processes have it in use.
    pub busy: bool,
}

impl Card {
    /// What one of the `*_VISIBLE_DEVICES` variables calls it.
    pub fn handle(&self) -> String {
        if self.uuid.is_empty() { self.index.to_string() } else { self.uuid.clone() }
    }

    /// What a lock on it is called.
    pub fn lock_name(&self) -> String {
        if self.uuid.is_empty() { format!("{}-{}", self.vendor, self.index) } else { self.uuid.clone() }
    }
}

/// NVIDIA's devices, and whether the management library can watch them.
///
/// # Errors
/// There are none, or the driver does not answer.
pub fn nvidia(limit: Duration) -> Result<(Vec<Card>, bool), String> {
    match nvml::read(limit) {
        Ok(machine) => {
            let cards: Vec<Card> = machine.devices.iter().map(|state| of_state(&machine, state)).collect();
            if cards.is_empty() && !machine.lost.is_empty() {
                return Err(format!("no nvidia GPU answers: {}", machine.lost.join("; ")));
            }
            Ok((cards, true))
        }
        // A driver that hangs would hang its other tools as well.
        Err(why) if why.contains("did not answer") => Err(why),
        Err(_) => {
            let found = gpu::probe().into_iter().filter(|gpu| gpu.vendor == "nvidia");
            let cards = found.zip(0..).map(|(gpu, index)| Card {
                vendor: gpu.vendor,
                name: gpu.name,
                uuid: gpu.uuid.unwrap_or_default(),
                index,
                driver: gpu.driver,
                ..Card::default()
            });
            Ok((cards.collect(), false))
        }
    }
}

fn of_state(machine: &nvml::Machine, state: &nvml::State) -> Card {
    Card {
        vendor: "nvidia".into(),
        arch: state.arch.clone(),
        name: state.name.clone(),
        uuid: state.uuid.clone(),
        index: state.index,
        driver: machine.driver.clone(),
        cuda: machine.cuda.clone(),
        node: None,
        busy: state.processes.as_ref().is_some_and(|all| !all.is_empty()),
    }
}

/// AMD's devices, as the folder of their compute driver shows them.
pub fn amd(kfd: &Path) -> Vec<Card> {
    gpu::amd_cards(&kfd.join("topology/nodes"), Path::new("/sys/module/amdgpu/version"))
        .into_iter()
        .zip(0..)
        .map(|(mut card, index)| {
            card.index = index;
            card.busy = card.node.is_some_and(|node| !kfd_users(kfd, node).is_empty());
            card
        })
        .collect()
}

/// Processes that have memory of a device, by the compute driver's own account.
pub(super) fn kfd_users(kfd: &Path, node: u64) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(kfd.join("proc")) else {
        return Vec::new();
    };
    let uses = |folder: PathBuf| {
        let used = super::read_start(folder.join(format!("vram_{node}")), 64);
        used.trim().parse::<u64>().is_ok_and(|bytes| bytes > 0)
    };
    entries
        .flatten()
        .take(4096)
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .filter_map(|(pid, folder)| uses(folder).then_some(pid))
        .collect()
}

/// Those of the cards that a `*_VISIBLE_DEVICES` variable leaves visible; all when it is not set.
///
/// As CUDA reads it: numbers in the driver's order, or beginnings of identities; what names no device ends the list.
pub fn visible(cards: Vec<Card>, variable: Option<&str>) -> Vec<Card> {
    let Some(wanted) = variable else { return cards };
    let mut seen: Vec<Card> = Vec::new();
    for word in wanted.split(',').map(str::trim) {
        let found = match word.parse::<u32>() {
            Ok(number) => cards.iter().find(|card| card.index == number),
            Err(_) if word.len() > 4 => {
                let mut fits = cards.iter().filter(|card| card.uuid.starts_with(word));
                fits.next().filter(|_| fits.next().is_none())
            }
            Err(_) => None,
        };
        match found {
            Some(card) if !seen.contains(card) => seen.push(card.clone()),
            _ => break,
        }
    }
    seen
}

/// As [`visible`], for a variable whose numbers count what another one has left.
pub fn renumbered(cards: Vec<Card>, variable: Option<&str>) -> Vec<Card> {
    let Some(variable) = variable else { return cards };
    let places: Vec<u32> = cards.iter().map(|card| card.index).collect();
    let counted = cards.into_iter().zip(0..).map(|(card, index)| Card { index, ..card }).collect();
    visible(counted, Some(variable))
        .into_iter()
        .map(|card| Card { index: places[card.index as usize], ..card })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn card(index: u32, uuid: &str) -> Card {
        Card { vendor: "nvidia".into(), uuid: uuid.into(), index, ..Card::default() }
    }

    #[test]
    fn the_variable_names_numbers_and_beginnings() {
        let all = vec![card(0, "GPU-aaaa"), card(1, "GPU-aabb"), card(2, "GPU-cccc")];
        let uuids = |variable: Option<&str>| -> Vec<String> {
            visible(all.clone(), variable).into_iter().map(|c| c.uuid).collect()
        };
        assert_eq!(uuids(None).len(), 3);
        assert_eq!(uuids(Some("2,0")), ["GPU-cccc", "GPU-aaaa"]);
        assert_eq!(uuids(Some("GPU-cc, 1")), ["GPU-cccc", "GPU-aabb"]);
        assert_eq!(uuids(Some("0,9,1")), ["GPU-aaaa"]);
        for nothing in ["", "-1", "NoDevFiles", "GPU-aa", "x", "0x1"] {
            assert_eq!(uuids(Some(nothing)), [""; 0], "{nothing}");
        }
        assert_eq!(uuids(Some("0,0,1")), ["GPU-aaaa"]);
        let left = visible(all.clone(), Some("2,1"));
        let again = renumbered(left, Some("1"));
        assert_eq!((again.len(), again[0].uuid.as_str(), again[0].index), (1, "GPU-aabb", 1));
    }

    #[test]
    fn the_compute_driver_names_its_users() {
        let folder = tempfile::tempdir().unwrap();
        for (pid, file, bytes) in [
            ("100", "vram_7", "4096\n"),
            ("101", "vram_7", "0\n"),
            ("102", "vram_8", "1\n"),
            ("x", "vram_7", "1\n"),
        ] {
            let process = folder.path().join("proc").join(pid);
            std::fs::create_dir_all(&process).unwrap();
            std::fs::write(process.join(file), bytes).unwrap();
        }
        assert_eq!(kfd_users(folder.path(), 7), [100]);
        assert_eq!(kfd_users(&folder.path().join("no"), 7), [0; 0]);
    }

    proptest! {
        #[test]
        fn any_variable_leaves_some_of_the_cards(text in any::<String>()) {
            let all = vec![card(0, "GPU-aaaa"), card(1, "GPU-bbbb")];
            let seen = visible(all.clone(), Some(&text));
            prop_assert!(seen.len() <= 2 && seen.iter().all(|c| all.contains(c)));
        }
    }
}
