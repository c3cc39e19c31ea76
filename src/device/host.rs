//! The system and the processor.

use std::path::Path;

use super::{one_line, read_start};

/// What is known without any GPU or tool.
pub(super) struct Host {
    pub(super) os: String,
    pub(super) kernel: String,
    pub(super) arch: String,
    pub(super) cpu: String,
    pub(super) cpus: u32,
    pub(super) memory_bytes: u64,
}

/// Reads what the kernel publishes; no program is started on Linux.
pub(super) fn probe() -> Host {
    let names = rustix::system::uname();
    let kernel = one_line(&names.release().to_string_lossy());
    let arch = one_line(&names.machine().to_string_lossy());
    let system = one_line(&names.sysname().to_string_lossy());
    let counted =
        std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1));
    if cfg!(target_os = "linux") {
        let release = ["/etc/os-release", "/usr/lib/os-release"]
            .iter()
            .find_map(|path| os_name(&read_start(path, 16 * 1024)))
            .unwrap_or(system);
        // The first processor's entry is enough, and on large machines each entry costs time.
        let cpu = cpu_model(&read_start("/proc/cpuinfo", 8 * 1024))
            .or_else(|| Some(one_line(read_start("/proc/device-tree/model", 256).trim_end_matches('\0'))))
            .unwrap_or_default();
        let online = online_count(&read_start("/sys/devices/system/cpu/online", 4096));
        Host {
            os: release,
            kernel,
            arch,
            cpu,
            cpus: online.unwrap_or(counted),
            memory_bytes: memory_total(&read_start("/proc/meminfo", 4096)).unwrap_or(0),
        }
    } else {
        let sysctl = |name: &str| {
            let answer =
                super::bounded::ask(Path::new("/usr/sbin/sysctl"), &["-n", name], super::bounded::LIMIT);
            answer.map(|text| one_line(&text)).unwrap_or_default()
        };
        Host {
            os: system,
            kernel,
            arch,
            cpu: sysctl("machdep.cpu.brand_string"),
            cpus: sysctl("hw.logicalcpu").parse().unwrap_or(counted),
            memory_bytes: sysctl("hw.memsize").parse().unwrap_or(0),
        }
    }
}

/// `PRETTY_NAME` of an os-release file, else `NAME`, unquoted.
fn os_name(text: &str) -> Option<String> {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let value = line.trim().strip_prefix(key)?.strip_prefix('=')?.trim();
            let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
            let bare = quote.map_or(value, |quote| value.trim_matches(quote));
            let name = one_line(&bare.replace("\\\"", "\"").replace("\\$", "$"));
            (!name.is_empty()).then_some(name)
        })
    };
    value("PRETTY_NAME").or_else(|| value("NAME"))
}

/// The processor's name in `/proc/cpuinfo`, whichever key this architecture uses for it.
fn cpu_model(text: &str) -> Option<String> {
    let value = |key: &str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let value = one_line(value);
            (name.trim() == key && !value.is_empty()).then_some(value)
        })
    };
    ["model name", "cpu model", "cpu", "Processor", "Model", "Hardware", "uarch"]
        .into_iter()
        .find_map(value)
        .or_else(|| {
            // 64-bit ARM names nothing but two numbers; they identify the core all the same.
            Some(format!("ARM implementer {} part {}", value("CPU implementer")?, value("CPU part")?))
        })
}

/// How many processors a list such as `0-3,8,10-11` names.
fn online_count(text: &str) -> Option<u32> {
    let mut count = 0_u32;
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        count = count.checked_add(last.checked_sub(first)?.checked_add(1)?)?;
    }
    Some(count)
}

/// `MemTotal` of `/proc/meminfo`, in bytes.
fn memory_total(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    // Ledgers hold no integers beyond 2^53.
    kibibytes.checked_mul(1024).filter(|bytes| *bytes < 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn os_release_in_its_spellings() {
        let text = "NAME=\"Example Linux\"\nVERSION_ID=7\nPRETTY_NAME=\"Example Linux 7 (Fern)\"\n";
        assert_eq!(os_name(text).as_deref(), Some("Example Linux 7 (Fern)"));
        assert_eq!(os_name("NAME='Plain'\n").as_deref(), Some("Plain"));
        assert_eq!(os_name("PRETTY_NAME=Bare\n").as_deref(), Some("Bare"));
        assert_eq!(os_name("PRETTY_NAME=\"\"\nNAME=Rolling\n").as_deref(), Some("Rolling"));
        assert_eq!(os_name("ID=x\n"), None);
    }

    #[test]
    fn processors_of_several_architectures() {
        let intel =
            "processor\t: 0\nvendor_id\t: Genuine\nmodel\t\t: 85\nmodel name\t: Example(R) CPU @ 2.00GHz\n";
        assert_eq!(cpu_model(intel).as_deref(), Some("Example(R) CPU @ 2.00GHz"));
        let arm = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        assert_eq!(cpu_model(arm).as_deref(), Some("ARM implementer 0x41 part 0xd0c"));
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(cpu_model(power).as_deref(), Some("POWER9, altivec supported"));
        assert_eq!(cpu_model("nothing here"), None);
    }

    #[test]
    fn counts() {
        assert_eq!(online_count("0-3,8,10-11\n"), Some(7));
        assert_eq!(online_count("0\n"), Some(1));
        assert_eq!(online_count("3-1"), None);
        assert_eq!(online_count("0-4294967295"), None);
        assert_eq!(memory_total("MemFree: 1 kB\nMemTotal:       16316412 kB\n"), Some(16_316_412 * 1024));
        assert_eq!(memory_total("MemTotal: 18446744073709551615 kB\n"), None);
    }

    proptest! {
        #[test]
        fn total(text in any::<String>()) {
            let _ = (os_name(&text), cpu_model(&text), online_count(&text), memory_total(&text));
        }

        #[test]
        fn total_near_the_format(text in "(PRETTY_NAME=['\"a\\\\]{0,5}|MemTotal: ?[0-9]{0,22} ?kB|[0-9]{0,11}-?[0-9]{0,11},?|\n){0,6}") {
            let _ = (os_name(&text), cpu_model(&text), online_count(&text), memory_total(&text));
        }
    }
}
