//! Who is a person: common given names of many places. Not a register of anybody; a word from it in front of a human
//! verb is read as a person, and a product's name is not.

use std::collections::HashSet;
use std::sync::LazyLock;

const NAMES: &str = "aaron abby abdul abigail ada adam adrian ahmed aisha akira alan albert alejandro alex alexander \
    alexandra alexis ali alice alicia allison amanda amir amit amy ana anders andre andrea andreas andrei andrew andy \
    angela anita ann anna anne annie anthony antonio ari arjun arthur arun ashley ashok ben benjamin bernd beth bill \
    bjorn bob boris brad brandon brenda brent brian bruce bryan camila carl carla carlos carmen carol caroline \
    catherine cecilia chad charles charlie charlotte chen cheng chloe chris christian christina christine christopher \
    claire clara claudia craig cristina cynthia dan dana daniel daniela danny dave david dawn deborah deepak denis \
    dennis derek devon diana diego dirk dmitri dmitry dominic don donald donna doug douglas dylan ed eddie edgar edward \
    elena eli elias elisa elizabeth ella ellen emil emily emma enrique eric erica erik erin ethan eva evan eve evelyn \
    fatima felix fernando filip fiona florian frank franz fred frida gabriel gareth gary gavin george gerald gina \
    giulia glen gordon grace graham greg gregory guillaume gustav hannah hans harold harry hassan heather heidi helen \
    helena henrik henry hiroshi howard hugo ian ibrahim igor ingrid irene isaac isabel isabella ivan ivy jack jacob \
    jake james jamie jan jane janet jared jasmine jason javier jay jean jeff jeffrey jennifer jenny jeremy jerry jesse \
    jessica jill jim jimmy joan joanna joe joel johan johannes john johnny jon jonas jonathan jordan jorge jose joseph \
    josh joshua juan judith judy julia julian julie june jürgen justin karen karim karl kate katherine kathy katie \
    keith kelly ken kenji kenneth kevin khalid kim kiran kristen kurt kyle lars laura lauren laurent leah lee lena leo \
    leon leonard leslie li liam lily linda lisa liu liz louis louise lucas lucia lucy luis luke magnus manuel marc marco \
    marcus margaret maria marie mario marion mark markus marta martha martin mary mateo matt matthew max maya megan mei \
    melissa michael michel michelle miguel mike mikhail milan mohamed mohammed molly monica morgan muhammad nadia \
    nancy natalie nate nathan neil nicholas nick nicola nicolas nicole nikhil nils nina noah nora olaf oleg oliver \
    olivia omar oscar otto pablo pam pamela pat patricia patrick paul paula pedro peggy peter petra phil philip pierre \
    piotr priya rachel rafael rahul raj ralph ramesh ravi ray raymond rebecca ricardo richard rick rita rob robert \
    roberto robin roger roland ron ronald rosa rose ross ruth ryan sam samantha samir samuel sandra sara sarah sasha \
    satoshi scott sean sebastian sergei sergey shane shannon sharon shawn simon sofia sonia sophia sophie stefan \
    stephanie stephen steve steven stuart sue susan suresh susanne svetlana sven tamara tanya tara ted teresa terry \
    thomas tim timothy tina tobias todd tom tomas tony tracy trevor trent tyler ursula valentina vanessa vera victor \
    victoria vijay vincent vladimir walter wang wayne wei wendy will william wolfgang xavier yan yuki yusuf yuri yves \
    zach zhang zoe";

static FIRST: LazyLock<HashSet<&'static str>> = LazyLock::new(|| NAMES.split_whitespace().collect());

/// Whether a word is a common given name.
pub(super) fn is_first_name(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let bare = bare.strip_suffix("'s").or_else(|| bare.strip_suffix("’s")).unwrap_or(bare);
    bare.chars().next().is_some_and(char::is_uppercase) && FIRST.contains(bare.to_lowercase().as_str())
}
