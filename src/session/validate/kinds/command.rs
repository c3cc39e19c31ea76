//! Kind `command`.

use super::{Kind, Site, Step, own_command};
use crate::model::Result;
use crate::validate::gate::{self, End, Judged};

/// One run, whose exit status decides.
pub(super) struct Command;

impl Kind for Command {
    fn steps(&self, site: &Site<'_>) -> Result<Vec<Step>> {
        Ok(vec![own_command(site)])
    }

    fn judge(&self, _site: &Site<'_>, ends: &[End], _output: &[u8]) -> Result<Judged> {
        Ok(gate::command::judge(ends))
    }
}
