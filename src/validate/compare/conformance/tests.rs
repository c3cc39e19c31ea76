//! The suite itself: a device that is wrong in one place only has to be caught.

use super::*;
use crate::validate::compare::{DeviceError, Tolerance};

/// The oracle as a device, with something done to what it finds.
struct Wrong {
    summary: fn(&mut Summary),
    details: fn(&mut Details),
}

impl Device for Wrong {
    fn name(&self) -> String {
        "wrong".into()
    }

    fn summary(&self, pair: Pair<'_>, tolerance: &Tolerance) -> Result<Summary, DeviceError> {
        let mut found = plain::summary(pair, tolerance);
        (self.summary)(&mut found);
        Ok(found)
    }

    fn details(&self, pair: Pair<'_>, tolerance: &Tolerance, worst: usize) -> Result<Details, DeviceError> {
        let mut found = plain::details(pair, tolerance, worst);
        (self.details)(&mut found);
        Ok(found)
    }
}

/// The first small cases are enough to catch anything.
fn caught(device: &Wrong) -> usize {
    let small = cases().into_iter().filter(|case| case.reference.elements() < 200).take(120);
    small.filter(|case| one(device, case, &mut 0).is_err()).count()
}

#[test]
fn a_device_that_is_wrong_anywhere_is_caught() {
    let nothing = Wrong { summary: |_| {}, details: |_| {} };
    assert_eq!(caught(&nothing), 0);
    let summaries: [fn(&mut Summary); 8] = [
        |found| found.mismatches = found.mismatches.saturating_sub(1),
        |found| found.max_abs = f64::from_bits((found.max_abs.to_bits()).saturating_sub(1)),
        |found| found.max_rel = f64::from_bits(found.max_rel.to_bits() + 1),
        |found| found.nan.first = found.nan.first.map(|first| first + 1),
        |found| found.nan.reference += 1,
        |found| std::mem::swap(&mut found.inf.reference, &mut found.inf.candidate),
        |found| found.sum_squared_difference *= 1.0 + 4.0 * SUM_BOUND,
        |found| found.finite += 1,
    ];
    for (at, summary) in summaries.into_iter().enumerate() {
        assert!(caught(&Wrong { summary, ..nothing }) > 0, "summary {at}");
    }
    let details: [fn(&mut Details); 5] = [
        |found| found.max_ulp = found.max_ulp.saturating_sub(1),
        |found| found.worst.reverse(),
        |found| {
            found.histogram.pop();
        },
        |found| found.axes.iter_mut().for_each(|axis| axis.counts.reverse()),
        |found| found.worst.iter_mut().for_each(|worst| worst.abs = -worst.abs),
    ];
    for (at, details) in details.into_iter().enumerate() {
        assert!(caught(&Wrong { details, ..nothing }) > 0, "details {at}");
    }
}

#[test]
fn cases_are_always_the_same_and_cover_what_they_should() {
    let all = cases();
    assert!(all.len() > 500, "{}", all.len());
    let names = || all.iter().map(|case| case.name.as_str());
    assert!(names().eq(cases().iter().map(|case| case.name.as_str())));
    let some = |wanted: fn(&Case) -> bool| all.iter().filter(|case| wanted(case)).count();
    assert!(some(|case| case.reference.shape.is_empty()) > 5, "scalars");
    assert!(some(|case| case.reference.elements() == 0) > 20, "empty");
    assert!(some(|case| case.reference.scale.is_some()) > 10, "factors");
    assert!(some(|case| case.candidate.big_endian) > 50, "big-endian");
    assert!(some(|case| case.tolerance.bitwise) > 50, "bitwise");
    assert!(some(|case| case.reference.dtype != case.candidate.dtype) > 20, "mixed types");
}
