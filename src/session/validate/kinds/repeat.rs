//! Kind `repeat`.

use super::{Kind, Site, Step, own_command};
use crate::model::Result;
use crate::validate::gate::{self, End, Judged};

/// Several runs, of which every one has to pass.
pub(super) struct Repeat;

impl Kind for Repeat {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        Ok((0..site.job.gate.repetitions()).map(|_| own_command(site)).collect())
    }

    fn judge(&self, site: &Site<'_>, ends: &[End], _output: &[u8]) -> Result<Judged> {
        Ok(gate::repeat::judge(ends, site.job.gate.repetitions()))
    }
}
