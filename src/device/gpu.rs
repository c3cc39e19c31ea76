//! The GPUs and the drivers under them.
//!
//! NVIDIA: `nvidia-smi` says which devices this process may use, which inside a container is fewer
//! than the host has; where it is missing or fails (a library that does not fit the loaded module),
//! the kernel module's own listing is taken. AMD: the topology that the compute driver publishes;
//! no program is needed. A machine with neither pays for three failed lookups.

use std::path::Path;

use super::bounded::{LIMIT, ask, on_path};
use super::cards::Card;
use super::{Gpu, one_line, read_start};

/// The most devices of one vendor that are listed.
const MOST: usize = 64;

/// PCI vendor number of AMD, as the topology prints it.
const AMD: u64 = 0x1002;

/// The devices that are there; empty when there are none.
pub(super) fn probe() -> Vec<Gpu> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let mut gpus = nvidia(Path::new("/proc/driver/nvidia"));
    gpus.extend(amd(Path::new("/sys/class/kfd/kfd/topology/nodes"), Path::new("/sys/module/amdgpu/version")));
    gpus
}

fn nvidia(driver: &Path) -> Vec<Gpu> {
    let version = read_start(driver.join("version"), 4096);
    // Under WSL the driver is Windows' own: no entry in /proc, but its device file is there.
    if version.is_empty() && !Path::new("/dev/dxg").exists() {
        return Vec::new();
    }
    let question = ["--query-gpu=name,driver_version,uuid", "--format=csv,noheader"];
    let seen = on_path("nvidia-smi").and_then(|program| ask(&program, &question, LIMIT));
    let seen = seen.map(|answer| smi_list(&answer)).unwrap_or_default();
    if seen.is_empty() { nvidia_listing(driver, &module_version(&version)) } else { seen }
}

/// The devices the kernel module lists, without asking any program.
fn nvidia_listing(driver: &Path, version: &str) -> Vec<Gpu> {
    folders(&driver.join("gpus"))
        .iter()
        .filter_map(|folder| information(&read_start(folder.join("information"), 4096), version))
        .collect()
}

fn amd(nodes: &Path, module_version: &Path) -> Vec<Gpu> {
    let folders = folders(nodes);
    if folders.is_empty() {
        return Vec::new();
    }
    // The module has a version of its own only where it was installed apart from the kernel.
    let own = one_line(&read_start(module_version, 256));
    let driver = if own.is_empty() {
        format!("in kernel {}", one_line(&rustix::system::uname().release().to_string_lossy()))
    } else {
        own
    };
    folders
        .iter()
        .filter_map(|node| {
            let properties = read_start(node.join("properties"), 16 * 1024);
            topology_node(&properties, &read_start(node.join("name"), 256), &driver)
        })
        .collect()
}

/// The same devices, as a gate may be given them.
pub(super) fn amd_cards(nodes: &Path, module_version: &Path) -> Vec<Card> {
    let Some(driver) = amd(nodes, module_version).into_iter().next().map(|gpu| gpu.driver) else {
        return Vec::new();
    };
    folders(nodes)
        .iter()
        .filter_map(|node| {
            let properties = read_start(node.join("properties"), 16 * 1024);
            let name = read_start(node.join("name"), 256);
            let gpu = topology_node(&properties, &name, &driver)?;
            let target = number(&properties, "gfx_target_version").filter(|version| *version > 0);
            Some(Card {
                vendor: gpu.vendor,
                arch: target.map(gfx_name).unwrap_or_default(),
                name: Some(one_line(&name)).filter(|name| !name.is_empty()).unwrap_or(gpu.name),
                uuid: gpu.uuid.unwrap_or_default(),
                driver: gpu.driver,
                node: read_start(node.join("gpu_id"), 64).trim().parse().ok().filter(|id| *id != 0),
                ..Card::default()
            })
        })
        .collect()
}

/// The entries of a folder in a stable order: by number where the names are numbers.
fn folders(path: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort_by_key(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name.parse::<u32>().unwrap_or(u32::MAX), name)
    });
    paths.truncate(MOST);
    paths
}

/// `nvidia-smi --query-gpu=name,driver_version,uuid --format=csv,noheader`.
///
/// Read from the right, as only the name may hold commas.
fn smi_list(answer: &str) -> Vec<Gpu> {
    answer
        .lines()
        .filter_map(|line| {
            let mut fields = line.rsplitn(3, ',').map(one_line);
            let (uuid, driver, name) = (fields.next()?, fields.next()?, fields.next()?);
            // "[N/A]" and messages such as "No devices were found" are not devices.
            let uuid = Some(uuid).filter(|uuid| uuid.starts_with("GPU-") || uuid.starts_with("MIG-"));
            let dotted = driver.contains('.') && driver.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            (dotted && !name.is_empty()).then(|| Gpu { vendor: "nvidia".into(), name, driver, uuid })
        })
        .take(MOST)
        .collect()
}

/// The version in `/proc/driver/nvidia/version`: the first word made of digits and dots after the
/// words `Kernel Module`.
fn module_version(text: &str) -> String {
    let line = text.lines().find(|line| line.contains("Kernel Module")).unwrap_or_default();
    let after = line.split_once("Kernel Module").map_or("", |(_, after)| after);
    let word = after.split_whitespace().find(|word| {
        word.contains('.')
            && word.starts_with(|c: char| c.is_ascii_digit())
            && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    one_line(word.unwrap_or_default())
}

/// One `/proc/driver/nvidia/gpus/*/information`.
fn information(text: &str, driver: &str) -> Option<Gpu> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?;
        Some(one_line(line)).filter(|value| !value.is_empty())
    };
    // The module prints question marks until the device was first used.
    let uuid = value("GPU UUID").filter(|uuid| !uuid.contains('?'));
    Some(Gpu { vendor: "nvidia".into(), name: value("Model")?, driver: driver.to_owned(), uuid })
}

/// One node of the compute driver's topology; `None` for processors, which are nodes too.
fn topology_node(properties: &str, name: &str, driver: &str) -> Option<Gpu> {
    let number = |key: &str| number(properties, key);
    if number("simd_count")? == 0 || number("vendor_id")? != AMD {
        return None;
    }
    let target = number("gfx_target_version").filter(|version| *version > 0).map(gfx_name);
    let name = one_line(name);
    let name = match (name.is_empty(), target) {
        (false, Some(target)) => format!("{name} ({target})"),
        (false, None) => name,
        (true, Some(target)) => target,
        (true, None) => format!("device {:#06x}", number("device_id").unwrap_or(0)),
    };
    let uuid = number("unique_id").filter(|id| *id != 0).map(|id| format!("GPU-{id:016x}"));
    Some(Gpu { vendor: "amd".into(), name, driver: driver.to_owned(), uuid })
}

fn number(properties: &str, key: &str) -> Option<u64> {
    properties.lines().find_map(|line| {
        let (found, value) = line.split_once(' ')?;
        if found == key { value.trim().parse().ok() } else { None }
    })
}

/// The compiler's name of an architecture: major in decimal, minor and stepping one hexadecimal
/// digit each (90402 is `gfx942`, 90010 is `gfx90a`).
fn gfx_name(version: u64) -> String {
    format!("gfx{}{:x}{:x}", version / 10_000, version / 100 % 100, version % 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VERSION: &str = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.10.07  Release Build  (b@c)  \
                           Tue\nGCC version:  gcc version 13.3.0\n";
    const OLD_VERSION: &str = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.20.01  Wed\n";
    const INFORMATION: &str = "Model: \t\t NVIDIA Example 9000\nIRQ:   \t\t 90\n\
                               GPU UUID: \t GPU-00000000-1111-2222-3333-444444444444\nVideo BIOS: \t 00.00\n";
    const NODE: &str = "cpu_cores_count 0\nsimd_count 1216\nvendor_id 4098\ndevice_id 29857\n\
                        gfx_target_version 90402\nunique_id 1311768467463790320\n";

    #[test]
    fn driver_versions() {
        assert_eq!(module_version(VERSION), "570.10.07");
        assert_eq!(module_version(OLD_VERSION), "535.20.01");
        assert_eq!(module_version("something else"), "");
    }

    #[test]
    fn the_list_of_the_vendor_program() {
        let list = smi_list(
            "NVIDIA Example 9000, 570.10.07, GPU-0-1\nNVIDIA A, B Edition, 570.10.07, [N/A]\n\
             No devices were found\nFailed to initialize, sorry, really\n",
        );
        assert_eq!(list.len(), 2);
        assert_eq!(list[0].uuid.as_deref(), Some("GPU-0-1"));
        assert_eq!((list[1].name.as_str(), &list[1].uuid), ("NVIDIA A, B Edition", &None));
    }

    #[test]
    fn the_listing_of_the_kernel_module() {
        let folder = tempfile::tempdir().unwrap();
        for (bus, text) in
            [("0000:02:00.0", INFORMATION), ("0000:01:00.0", "Model: Second\nGPU UUID: GPU-????\n")]
        {
            let device = folder.path().join("gpus").join(bus);
            std::fs::create_dir_all(&device).unwrap();
            std::fs::write(device.join("information"), text).unwrap();
        }
        let gpus = nvidia_listing(folder.path(), "570.10.07");
        assert_eq!(gpus.len(), 2);
        assert_eq!((gpus[0].name.as_str(), &gpus[0].uuid), ("Second", &None));
        assert_eq!(gpus[1].name, "NVIDIA Example 9000");
        assert_eq!(gpus[1].uuid.as_deref(), Some("GPU-00000000-1111-2222-3333-444444444444"));
    }

    #[test]
    fn the_topology_without_its_processors() {
        let folder = tempfile::tempdir().unwrap();
        let nodes = [
            ("0", "cpu_cores_count 64\nsimd_count 0\nvendor_id 0\n", ""),
            ("10", NODE, "second\n"),
            ("2", NODE, "\n"),
        ];
        for (number, properties, name) in nodes {
            let node = folder.path().join("nodes").join(number);
            std::fs::create_dir_all(&node).unwrap();
            std::fs::write(node.join("properties"), properties).unwrap();
            std::fs::write(node.join("name"), name).unwrap();
        }
        let version = folder.path().join("version");
        std::fs::write(&version, "6.10.5\n").unwrap();
        let gpus = amd(&folder.path().join("nodes"), &version);
        let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
        assert_eq!(names, ["gfx942", "second (gfx942)"], "2 comes before 10");
        assert!(gpus.iter().all(|gpu| gpu.vendor == "amd" && gpu.driver == "6.10.5"));
        assert_eq!(gpus[0].uuid.as_deref(), Some("GPU-123456789abcdef0"));
        let unversioned = amd(&folder.path().join("nodes"), &folder.path().join("none"));
        assert!(unversioned[0].driver.starts_with("in kernel "));
    }

    #[test]
    fn architecture_names() {
        assert_eq!(gfx_name(90_010), "gfx90a");
        assert_eq!(gfx_name(110_000), "gfx1100");
        assert_eq!(gfx_name(120_001), "gfx1201");
    }

    #[test]
    fn no_driver_means_no_gpu_and_no_program() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(amd(folder.path(), folder.path()), []);
        assert_eq!(nvidia_listing(folder.path(), ""), []);
    }

    proptest! {
        #[test]
        fn total(text in any::<String>(), other in any::<String>()) {
            let _ = (module_version(&text), smi_list(&text), information(&text, &other), topology_node(&text, &other, ""));
        }

        #[test]
        fn total_near_the_format(numbers in prop::collection::vec(any::<u64>(), 4)) {
            let text = format!(
                "simd_count {}\nvendor_id 4098\ngfx_target_version {}\nunique_id {}\ndevice_id {}\n",
                numbers[0], numbers[1], numbers[2], numbers[3],
            );
            prop_assert_eq!(topology_node(&text, "x", "").is_none(), numbers[0] == 0);
        }
    }
}
