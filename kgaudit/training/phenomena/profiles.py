"""Short portraits in connected prose: several relations of one subject at once, and names that stand in none of those asked for.

A portrait is (kind of the subject, template, slots); a slot is "letter:kind:predicate label", the label empty for a name that is there
for another reason. Fields: S, P (he, she, it), Pos, y1 to y3.
"""

from __future__ import annotations

from collections.abc import Callable

from kgaudit.training.phenomena.made import Made
from kgaudit.training.phenomena.names import Name
from kgaudit.training.phenomena.scene import Scene, choose, made, pick_wording, tidy, title

FUNCTIONAL = {
    "place of birth",
    "place of death",
    "headquarters location",
    "chief executive officer",
    "parent organization",
    "director",
    "author",
    "capital",
    "mouth of the watercourse",
    "manufacturer",
    "head coach",
    "mayor",
    "mother",
    "father",
    "painted by",
    "architect",
    "winner",
    "place of burial",
    "location of formation",
    "head of government",
    "home venue",
    "country",
    "parent taxon",
    "member of political party",
    "member of sports team",
    "first captain",
    "last captain",
    "head of state",
    "leader",
    "rector",
    "runner-up",
    "publisher",
    "first climbed by",
    "place of signature",
    "place of negotiation",
    "place of marriage",
}

PORTRAITS: tuple[tuple[str, str, str], ...] = (
    (
        "person",
        "Born in {a}, {S} grew up in {b} and {c}. {P} read law at {d}, was called to the bar in {e} and died in {f} in {y3}.",
        "a:town:place of birth b:town: c:town: d:institution:educated at e:town: f:town:place of death",
    ),
    (
        "person",
        "{S} left {a}, where {P} was born, for {b} at the age of six. After taking a degree at {c} {P} taught at {d}.",
        "a:town:place of birth b:town: c:institution:educated at d:institution:employer",
    ),
    (
        "person",
        "{S} ({y1}–{y3}) was a chemist from {a}. A pupil of {b}, {P} became the teacher of {c}. {P} lies buried in {d}.",
        "a:town: b:person:student of c:person: d:town:place of burial",
    ),
    (
        "person",
        "A child of {a} and {b}, {S} married {c} in {d} in {y1}. They settled in {e}.",
        "a:woman:mother b:man:father c:person:spouse d:town:place of marriage e:town:residence",
    ),
    (
        "person",
        "{S} works for {a} in {b}. {P} was with {c} before and turned down an offer from {d}.",
        "a:company:employer b:town:work location c:company: d:company:",
    ),
    (
        "person",
        "A striker, {S} came through the youth ranks of {a}, made {Pos} name at {b} and now plays for {c} under the coach {d}.",
        "a:team: b:team: c:team:member of sports team d:person:",
    ),
    (
        "person",
        "{S} won {a} in {y1} and was in the running for {b} twice. {Pos} bust by {c} stands in {d}.",
        "a:award:award received b:award:nominated for c:person: d:town:",
    ),
    (
        "person",
        "{S} speaks {a} at home, writes in {b} and has taught {c} at {d}.",
        "a:language:languages spoken, written or signed b:language: c:language:language taught d:institution:employer",
    ),
    (
        "person",
        "A lawyer, {S} entered parliament for {a} in {y1}, having broken with {b}. {P} campaigned against {c} and drafted {d}.",
        "a:party:member of political party b:party: c:law:opponent of d:law:",
    ),
    (
        "person",
        "Although {S} was baptised in {a}, {P} had been born in {b}. {P} fell ill in {c} and died on the way to {d}.",
        "a:town: b:town:place of birth c:town: d:town:",
    ),
    (
        "company",
        "{S} was founded in {a} by {b}; {c} lent the money. Its seat is in {d} now, and {e} is its chief executive.",
        "a:town:location of formation b:person:founded by c:person: d:town:headquarters location e:person:chief executive officer",
    ),
    (
        "company",
        "{S}, a subsidiary of {a}, buys its steel from {b} and competes with {c}. In {y2} it took over {d}.",
        "a:company:parent organization b:company:supplier c:company:competitor d:company:acquired",
    ),
    (
        "company",
        "Based in {a}, {S} makes tyres in {b} and ships them through {c}. {d} is a customer of long standing.",
        "a:town:headquarters location b:town:location of factory c:town: d:company:",
    ),
    (
        "company",
        "When {a} retired as chief executive of {S}, the board passed over {b} and chose {c}. {d} chairs the board.",
        "a:person: b:person: c:person:chief executive officer d:person:chairperson",
    ),
    (
        "company",
        "{a} put two million into {S} in {y1}; {b}, which had been asked as well, did not. The accounts are audited by {c}.",
        "a:company:investor b:company: c:company:auditor",
    ),
    (
        "company",
        "{S} exports to {a} and {b}. It withdrew from {c} in {y2} and has its eye on {d}.",
        "a:country:country of export b:country:country of export c:country: d:country:",
    ),
    (
        "film",
        "{S}, directed by {a} after a novel by {b}, stars {c} and was shot in {d} with a crew from {e}. {f} wrote it.",
        "a:person:director b:person: c:person:cast member d:town:filming location e:town: f:person:screenwriter",
    ),
    (
        "film",
        "Set in {a} but filmed in {b}, {S} was produced by {c}. The director, {d}, had wanted {e} for the lead, which went to {f}.",
        "a:town:narrative location b:town:filming location c:person:producer d:person:director e:person: f:person:cast member",
    ),
    (
        "film",
        "{a} edited {S} and {b} wrote its music; the credits thank {c}, a friend of the director {d}.",
        "a:person:film editor b:person:composer c:person: d:person:director",
    ),
    (
        "book",
        "{S} is a novel by {a} about {b}. It came out with {c} in {y1}; {d} turned it into a play, and {e} drew the cover.",
        "a:person:author b:town:main subject c:company:publisher d:person: e:person:cover art by",
    ),
    (
        "book",
        "Written in {a} by {b}, {S} has been translated into {c} by {d}. One in {e} is in the making.",
        "a:language:original language of work b:person:author c:language:language of the translation d:person:translator e:language:",
    ),
    (
        "book",
        "{a} wrote {S} in {b}, where {P2} lived with {c}. The story is set in {d}.",
        "a:person:author b:town: c:person: d:town:narrative location",
    ),
    (
        "album",
        "{S} was recorded by {a} with {b} as producer and issued by {c}. {d} had passed on it.",
        "a:person:performer b:person:producer c:company:record label d:company:",
    ),
    (
        "song",
        "{S}, sung by {a}, is by {b}, who had written it for {c}. A cover by {d} sold better.",
        "a:person:performer b:person:composer c:person: d:person:",
    ),
    (
        "product",
        "{S} is built by {a} from {b}, under a licence from {c}. It replaced {d} and has itself been replaced by {e}.",
        "a:company:manufacturer b:material:made from material c:company: d:product:replaces e:product:replaced by",
    ),
    (
        "product",
        "Designed by {a} and made by {b}, {S} is sold in {c} under the name of {d}.",
        "a:company:designed by b:company:manufacturer c:country: d:company:",
    ),
    (
        "software",
        "{a} wrote {S} in {b}; {c} maintains it. It needs {d} and can read files made with {e}.",
        "a:person:developer b:codelang:programming language c:person:maintained by d:software:depends on software e:software:",
    ),
    (
        "software",
        "{S} grew out of {a}, borrows its syntax from {b} and runs on {c}. {d}, a firm, pays for its development by {e}.",
        "a:software:based on b:software: c:software:depends on software d:company:sponsor e:company:developer",
    ),
    (
        "town",
        "{S} lies in {a} at the foot of {b}, an hour from {c}. The mayor, {d}, was elected in {y3} over {e}.",
        "a:region:located in the administrative territorial entity b:mountain:near c:town: d:person:mayor e:person:",
    ),
    (
        "town",
        "On the banks of {a}, not far from the point where it takes up {b}, stands {S}, the birthplace of {c} and the home of {d}.",
        "a:river:located in or next to body of water b:river: c:person:birthplace of d:person:",
    ),
    (
        "country",
        "{S} is governed from {a}, although {b} is larger. {c} leads the government, {d} the opposition. {e} is official, {f} is not.",
        "a:town:capital b:town: c:person:head of government d:person: e:language:official language f:language:",
    ),
    (
        "country",
        "{S} has signed {a} and quit {b}. {c} took the rank of capital from {d} in {y2}.",
        "a:treaty:signatory of b:treaty: c:town:capital d:town:",
    ),
    (
        "river",
        "{S}, longer than {e}, rises in {a}, takes up {b}, crosses into {c} and ends in {d}.",
        "a:country: b:river:tributary c:country: d:lake:mouth of the watercourse e:river:",
    ),
    (
        "river",
        "Having passed {a} and run along {b}, {S} flows into {c}; {d} flows into {S} from the left.",
        "a:town: b:lake: c:lake:mouth of the watercourse d:river:tributary",
    ),
    (
        "building",
        "{S} was designed by {a}, after {b} had fallen out with the town; {c} built it and {d} runs it today.",
        "a:person:architect b:person: c:company:main building contractor d:company:operator",
    ),
    (
        "building",
        "{a} owns {S} and rents it to {b}. It is named after {c}, stands in {d} and was opened by {e}.",
        "a:company:owned by b:company:tenant c:person:named after d:region:located in the administrative territorial entity e:person:",
    ),
    (
        "bridge",
        "{S} leads across {a} in sight of {b}. {c} drew the plans, {d} checked the sums, and it bears the name of {e}.",
        "a:river:crosses b:river: c:person:architect d:person: e:person:named after",
    ),
    (
        "ship",
        "{S} sailed under the flag of {a} for {b}, which had bought it from {c}. {d} was its last captain; {e} its first.",
        "a:country:country b:company:owned by c:company: d:person:last captain e:person:first captain",
    ),
    (
        "team",
        "{S} plays at {a} and is coached by {b}, who came when {c} was dismissed. Its sponsor is {d}, as {e} was in {y1}.",
        "a:building:home venue b:person:head coach c:person: d:company:sponsor e:company:",
    ),
    (
        "competition",
        "{a} won {S} before {b}; {c}, who had won it the year before, came ninth. It was sponsored by {d} and broadcast by {e}.",
        "a:person:winner b:person:runner-up c:person: d:company:sponsor e:company:broadcast by",
    ),
    (
        "drug",
        "{S} inhibits {a} and, more weakly, {b}. It is a substrate of {c}; {d} was not affected. It helps in {e} and may cause {f}.",
        "a:gene:inhibits b:gene:inhibits c:gene:is a substrate of d:gene: e:disease:medical condition treated f:effect:side effect",
    ),
    (
        "drug",
        "Approved for {a} in {y2}, {S} failed in {b}. It interacts with {c}, but not with {d}, and is broken down by {e}.",
        "a:disease:medical condition treated b:disease: c:drug:significant drug interaction d:drug: e:gene:is a substrate of",
    ),
    (
        "gene",
        "{S} is expressed in {a} and absent from {b}. It activates {c}, is blocked by {d} and shares a domain with {e}.",
        "a:tissue:expressed in b:tissue: c:gene:activates d:drug:inhibited by e:gene:",
    ),
    (
        "species",
        "{S}, placed in {a} since {y2} and in {b} before, was described by {c} on a specimen that {d} had collected in {e}.",
        "a:genus:parent taxon b:genus: c:person:discoverer or inventor d:person: e:country:",
    ),
    (
        "painting",
        "{S}, by {a}, a pupil of {b}, shows {c} at prayer. It hangs in {d}, on loan from {e}.",
        "a:person:painted by b:person: c:person:depicts d:museum:location e:museum:owned by",
    ),
    (
        "newspaper",
        "{S} was started in {y1} by {a}. {b} edits it; {c}, who did so before, has gone to {d}. It belongs to {e}.",
        "a:person:founded by b:person:editor c:person: d:newspaper: e:company:owned by",
    ),
    (
        "law",
        "{S} was drafted by {a}, carried by {b} against {c}, and repealed what remained of {d}. It is in force in {e}, not in {f}.",
        "a:person:drafted by b:party:supporter c:party:opponent d:law:replaces e:region:applies to jurisdiction f:region:",
    ),
    (
        "institution",
        "{S} was set up in {a} by {b} and moved to {c} in {y2}. {d} is its rector. Among those who studied there is {e}.",
        "a:town:location of formation b:person:founded by c:town:headquarters location d:person:rector e:person:alumnus",
    ),
    (
        "museum",
        "{S} in {a} owns {b}; {c} hangs there on loan. {d} has directed it since {e} left for {f}.",
        "a:town:location b:painting:has works in the collection c:painting: d:person:director e:person: f:town:",
    ),
    (
        "disease",
        "{S}, caused by {a} and not, as was long believed, by {b}, responds to {c} but not to {d}.",
        "a:microbe:has cause b:microbe: c:drug:drug or therapy used for treatment d:drug:",
    ),
    (
        "person",
        "{S} was to have studied at {a} but, for want of money, went to {b}. {P} later taught at {c} and refused a chair at {d}.",
        "a:institution: b:institution:educated at c:institution:employer d:institution:",
    ),
    (
        "person",
        "Nobody knows whether {S} ever met {a}. {P} was taught by {b}, argued with {c} in print and supervised {d}.",
        "a:person: b:person:student of c:person:opponent d:person:doctoral student",
    ),
    (
        "person",
        "{S} lives in {a} and commutes to {b}. {P} had a flat in {c} until {y2} and would like to move to {d}.",
        "a:town:residence b:town:work location c:town: d:town:",
    ),
    (
        "person",
        "The mother of {S}, {a}, was born in {b}; {S} came into the world in {c}. {Pos} sister {d} was born in {e}.",
        "a:woman:mother b:town: c:town:place of birth d:woman: e:town:",
    ),
    (
        "person",
        "{S} studies {a} for a living and collects works on {b}. A degree in {c} was never finished.",
        "a:field:field of work b:field: c:field:",
    ),
    (
        "person",
        "In {y1} {S} sat in parliament for {a}. Today {P} represents {b}; {c} has asked {S} to stand for it next time.",
        "a:party: b:party:member of political party c:party:",
    ),
    (
        "person",
        "{S} received {a}, declined {b} and was passed over for {c}.",
        "a:award:award received b:award: c:award:",
    ),
    (
        "person",
        "{S} lies buried in {a}, the town of {Pos} wife, and not in {b}, where {P} died, or in {c}, where {P} was born.",
        "a:town:place of burial b:town:place of death c:town:place of birth",
    ),
    (
        "person",
        "As a captain of {a}, {S} lost a final to {b}. {P} is now under contract with {c}, which bought {S} from {d}.",
        "a:team: b:team: c:team:member of sports team d:team:",
    ),
    (
        "person",
        "{S} owns {a}, rents {b} and sold {c} in {y2}.",
        "a:building:owner of b:building: c:building:",
    ),
    (
        "person",
        "{S} founded {a} and sits on the board of {b}; {c}, which {P} ran for a year, went bankrupt.",
        "a:company:founder of b:company:board member of c:company:",
    ),
    (
        "person",
        "{S} wrote {a}, translated {b} and reviewed {c}. {P} is a character in {d}.",
        "a:book:author of b:book:translator of c:book: d:book:",
    ),
    (
        "person",
        "{S} directed {a}, acted in {b} and wrote the script of {c}. {d} is dedicated to {S}.",
        "a:film:director of b:film: c:film:screenwriter of d:film:",
    ),
    (
        "person",
        "{S}, the designer of {a}, also drew plans for {b}, which was built by others, and criticised {c}.",
        "a:building:architect of b:building: c:building:",
    ),
    (
        "company",
        "{S} was part of {a} until {y1}, when {b} bought it. {c} made a higher bid but withdrew; {d} owns the building.",
        "a:company: b:company:parent organization c:company: d:company:",
    ),
    (
        "company",
        "{a} set up {S} with money from {b}. The first customer was {c}; {d} joined as a partner in {y2} and left again.",
        "a:person:founded by b:person:investor c:person: d:person:",
    ),
    (
        "company",
        "{S} of {a} has a plant in {b}, closed another in {c} and is looking for a site near {d}.",
        "a:town:headquarters location b:town:location of factory c:town: d:town:",
    ),
    (
        "company",
        "{S} bought {a}, sold {b}, failed to buy {c} and was sued by {d}.",
        "a:company:acquired b:company: c:company: d:company:",
    ),
    (
        "company",
        "{S} makes {a}. {b}, which looks much the same, is made by a rival; {c} was designed by {S} but never built.",
        "a:product:product or material produced b:product: c:product:",
    ),
    (
        "company",
        "The accounts of {S} were audited by {a} until {y1} and have been audited by {b} ever since. {c} advises its pension fund.",
        "a:company: b:company:auditor c:company:",
    ),
    (
        "company",
        "{a}, the chief executive of {S}, came from {b}, where {c} has taken {Apos} place.",
        "a:person:chief executive officer b:company: c:person:",
    ),
    (
        "company",
        "Two of the three founders of {S}, {a} and {b}, are dead. {c} was their lawyer and founded nothing.",
        "a:person:founded by b:person:founded by c:person:",
    ),
    (
        "agency",
        "{S} reports to the ministry in {a}, sits in {b} and has a branch in {c}. {d} heads it; {e} is the deputy.",
        "a:town: b:town:headquarters location c:town: d:person:director e:person:",
    ),
    (
        "film",
        "{a} was replaced by {b} as the director of {S} after a week. {c} plays the lead; {d} was cut from the final version.",
        "a:person: b:person:director c:person:cast member d:person:",
    ),
    (
        "film",
        "{S} won {a}, lost {b} to another film and did not compete for {c}.",
        "a:award:award received b:award:nominated for c:award:",
    ),
    (
        "film",
        "The story of {S} takes place in {a}. For reasons of cost it was shot in {b}; the première was in {c}.",
        "a:town:narrative location b:town:filming location c:town:",
    ),
    (
        "film",
        "{S} is based on {a}. It quotes {b} and was followed by {c}; {d} was planned as a third part.",
        "a:book:based on b:film: c:film:followed by d:film:",
    ),
    (
        "book",
        "{S} appeared with {a} when {b} had turned it down. {c} bought the film rights.",
        "a:company:publisher b:company: c:company:",
    ),
    (
        "book",
        "{S}, the third novel by {a}, was dedicated to {b} and translated by {c}. {d}, thanked in the preface, read the proofs.",
        "a:person:author b:person:dedicated to c:person:translator d:person:",
    ),
    (
        "book",
        "{S} comes after {a} and before {b} in the cycle. It is often confused with {c}, by another hand.",
        "a:book:follows b:book:followed by c:book:",
    ),
    (
        "album",
        "{S}, produced by {a}, is the first record of {b}. {c} plays the flute on two songs and {d} took the photograph.",
        "a:person:producer b:person:performer c:person: d:person:",
    ),
    (
        "show",
        "{S} ran on {a} before {b} bought the repeats. {c} made it; {d} made the remake.",
        "a:company:original broadcaster b:company: c:company:production company d:company:",
    ),
    (
        "product",
        "{S} succeeded {a} in {y1}. {b}, launched in the same month, is not its successor: that is {c}.",
        "a:product:follows b:product: c:product:followed by",
    ),
    (
        "product",
        "{S} was announced by {a}, designed for it by {b} and, when {a} went bankrupt, built by {c}.",
        "a:company:announced by b:company:designed by c:company:manufacturer",
    ),
    (
        "software",
        "{S} once required {a} and {b}. Since the last release it requires {c} and nothing else; {d} is optional.",
        "a:software: b:software: c:software:depends on software d:software:",
    ),
    (
        "software",
        "{S} is distributed under {a}, having been under {b} until {y2}. {c} covers the manual.",
        "a:licence:copyright license b:licence: c:licence:",
    ),
    (
        "town",
        "{S} used to belong to {a}; a treaty of {y1} gave it to {b}. It lies a mile from {c} and is twinned with {d}.",
        "a:country: b:country:country c:town: d:town:twinned administrative body",
    ),
    (
        "town",
        "{a} is the mayor of {S}, {b} was and {c} wants to be.",
        "a:person:mayor b:person: c:person:",
    ),
    (
        "town",
        "{S} lies between {a} and {b}, on the shore of neither: it stands on {c}.",
        "a:lake: b:lake: c:lake:located in or next to body of water",
    ),
    (
        "country",
        "In {S}, where {a} is the official language, {b} was banned until {y2}, and a bill to recognise {c} failed.",
        "a:language:official language b:language: c:language:",
    ),
    (
        "country",
        "{a} heads the government of {S}; {b} is head of state, and {c} speaks for parliament. {d} fled abroad.",
        "a:person:head of government b:person:head of state c:person: d:person:",
    ),
    (
        "mountain",
        "{S} stands in {a}, close to {b}, and was first climbed by {c}. {d}, who set out a day earlier, turned back.",
        "a:country:country b:country: c:person:first climbed by d:person:",
    ),
    (
        "lake",
        "{S} in {a} is fed by {b} and drained by {c}. {d} passes it by.",
        "a:region:located in the administrative territorial entity b:river:inflows c:river:outflows d:river:",
    ),
    (
        "building",
        "{S} was begun by {a} and finished by {b} to the plans of {c}. It belongs to {d}, which acquired it from {e}.",
        "a:company: b:company:main building contractor c:person:architect d:company:owned by e:company:",
    ),
    (
        "building",
        "{S} is made of {a}. Only the stairs are of {b}; a cladding of {c} was removed in {y2}.",
        "a:material:made from material b:material: c:material:",
    ),
    (
        "ship",
        "{S}, built by {a} for {b}, was chartered by {c} and rammed by a tug of {d}.",
        "a:company:manufacturer b:company:owned by c:company:operator d:company:",
    ),
    (
        "team",
        "{S} beat {a}, drew with {b} and lost to {c}. The match against {d} was called off.",
        "a:team:defeated b:team: c:team:defeated by d:team:",
    ),
    (
        "team",
        "{S} moved from {a} to {b} in {y2}; the women still play at {c}.",
        "a:building: b:building:home venue c:building:",
    ),
    (
        "competition",
        "{a} took {S} in {y3}. In the years before, {b} had been second twice, and {c} had been ruled out.",
        "a:team:winner b:team: c:team:",
    ),
    (
        "drug",
        "{S} activates {a}, inhibits {b} and leaves {c} alone.",
        "a:gene:activates b:gene:inhibits c:gene:",
    ),
    (
        "drug",
        "{S} relieved {a} in two trials. In {b} it was no better than placebo, and it made {c} worse.",
        "a:disease:medical condition treated b:disease: c:disease:",
    ),
    (
        "drug",
        "{a} and {b} occurred in patients given {S} as often as in those given placebo; {c} was seen only with {S}, which causes it.",
        "a:effect: b:effect: c:effect:side effect",
    ),
    (
        "drug",
        "The level of {a} rises when {S} is taken along with it. That of {b} does not. {c} has not been tested.",
        "a:drug:significant drug interaction b:drug: c:drug:",
    ),
    (
        "gene",
        "Loss of {S} causes {a}. It has also been linked with {b}, on weak evidence, and plays no part in {c}.",
        "a:disease:cause of b:disease: c:disease:",
    ),
    (
        "disease",
        "{a} was found in all patients with {S} and caused it when injected into mice; {b} was found in some, and {c} in none.",
        "a:microbe:has cause b:microbe: c:microbe:",
    ),
    (
        "species",
        "{S} was named by {a} after {b}. {c} illustrated it, and {d} found it again in {y3}.",
        "a:person:discoverer or inventor b:person:named after c:person: d:person:",
    ),
    (
        "painting",
        "{S} was painted by {a} in the workshop of {b}, who took the money. {c} bought it, {d} forged it.",
        "a:person:painted by b:person: c:person: d:person:",
    ),
    (
        "painting",
        "{S} went from {a} to {b} in {y2}. {c} keeps a sketch.",
        "a:museum: b:museum:collection c:museum:",
    ),
    (
        "law",
        "{S}, which replaced {a} in {y2}, amends {b} and refers to {c}.",
        "a:law:replaces b:law:amends c:law:",
    ),
    (
        "law",
        "Parliament passed {S} with the votes of {a}. {b} abstained, {c} voted against it.",
        "a:party:supporter b:party: c:party:opponent",
    ),
    (
        "treaty",
        "{a} and {b} signed {S}; {c} sent an observer, {d} stayed away.",
        "a:country:signatory b:country:signatory c:country: d:country:",
    ),
    (
        "treaty",
        "{S} was negotiated in {a}, signed in {b} and named after {c}.",
        "a:town:place of negotiation b:town:place of signature c:town:",
    ),
    (
        "institution",
        "{S} has no campus in {a} any more. It is in {b}, where {c} teaches botany. {d}, its rector, lives elsewhere.",
        "a:town: b:town:headquarters location c:person:employee d:person:rector",
    ),
    (
        "museum",
        "{S} is closed until {y3}. {a} designed its new wing, the old house being by {b}; {c} pays for it all.",
        "a:person: b:person:architect c:person:sponsor",
    ),
    (
        "newspaper",
        "{S} was bought by {a} from {b}. {c} had been expected to bid.",
        "a:company:acquired by b:company: c:company:",
    ),
    (
        "party",
        "{S} was founded by {a} and is led by {b}. {c} left it in {y2}; {d} has never been in it.",
        "a:person:founded by b:person:leader c:person: d:person:",
    ),
    (
        "person",
        "{S} was born in {a}, entered the firm in {b}, became a partner in {c} and died in {d}.",
        "a:year:date of birth b:year:work period (start) c:year: d:year:date of death",
    ),
    (
        "person",
        "{S} died in {d}, having made {Pos} last film in {c}. {P} had come to the stage in {b} and into the world in {a}.",
        "a:year:date of birth b:year:work period (start) c:year: d:year:date of death",
    ),
    (
        "company",
        "Founded in {a} as a bakery, {S} went public in {b}, was renamed in {c} and is to be split up in {d}.",
        "a:year:inception b:year:date of stock market listing c:year: d:year:",
    ),
    (
        "building",
        "Work on {S} began in {a}. It was opened in {b}, burnt in {c} and was repaired by {d}.",
        "a:year:construction start b:year:date of official opening c:year: d:year:",
    ),
    (
        "book",
        "{S} was finished in {a}, published in {b}, translated in {c} and filmed in {d}.",
        "a:year:completion date b:year:publication date c:year: d:year:",
    ),
    (
        "law",
        "A first draft of {S} goes back to {a}. It was passed in {b}, has been in force since {c} and was last changed in {d}.",
        "a:year: b:year:date of enactment c:year:start time d:year:",
    ),
    (
        "bridge",
        "{S}, closed since {c}, was opened in {b}; the first stone had been laid in {a}. It is to be torn down in {d}.",
        "a:year:construction start b:year:date of official opening c:year: d:year:",
    ),
    (
        "software",
        "The first release of {S} dates from {a}. Version 2 followed in {b}; support ended in {c}.",
        "a:year:inception b:year: c:year:end of support",
    ),
    (
        "town",
        "{S} has {a} inhabitants. {b} of them live in the old town and {c} work in the mill.",
        "a:number:population b:number: c:number:",
    ),
    (
        "town",
        "At the last count {S} had {a} inhabitants; the one before had given {b}. The football ground has room for {c}.",
        "a:number:population b:number: c:number:",
    ),
    (
        "company",
        "{S} employs {a} people, {b} of them abroad. {c} more are to be hired.",
        "a:number:number of employees b:number: c:number:",
    ),
    (
        "company",
        "Of the {a} employees of {S}, {b} went on strike; {c} customers were affected.",
        "a:number:number of employees b:number: c:number:",
    ),
    (
        "museum",
        "{S} owns {a} pictures, shows {b} of them and had to return {c}.",
        "a:number:collection or exhibition size b:number:number of works on display c:number:",
    ),
    (
        "newspaper",
        "{S} prints {a} copies, sells {b} of them and has {c} readers who pay online.",
        "a:number:circulation b:number:copies sold c:number:number of subscribers",
    ),
    (
        "party",
        "{S} won {a} votes with {b} members; {c} votes would have been enough for a seat.",
        "a:number:votes received b:number:member count c:number:",
    ),
    (
        "ship",
        "{S} has room for {a} passengers and a crew of {b}. On the night of the fire, {c} people were on board.",
        "a:number:maximum capacity b:number:crew members c:number:",
    ),
    (
        "institution",
        "{S} has {a} students and {b} teachers. It turned away {c} applicants.",
        "a:number:students count b:number:number of teachers c:number:",
    ),
    (
        "competition",
        "{a} runners started in {S}, {b} reached the finish, and {c} took the bus.",
        "a:number:number of participants b:number:number of finishers c:number:",
    ),
    (
        "show",
        "{S} had {a} viewers at its best and {b} at its worst; {c} letters asked for its return.",
        "a:number:highest audience b:number:lowest audience c:number:",
    ),
    (
        "drug",
        "{S} was tried in {a} patients, of whom {b} got better and {c} had to stop.",
        "a:number:number of participants b:number: c:number:",
    ),
)

Slots = list[tuple[str, str, str]]


def _slots(spec: str) -> Slots:
    """(letter, kind, label) of a portrait's slots; labels may hold blanks."""
    parts: Slots = []
    for word in spec.split(" "):
        letter, _, rest = word.partition(":")
        if len(letter) == 1 and rest:
            kind, _, label = rest.partition(":")
            parts.append((letter, kind, label))
        else:
            last = parts.pop()
            parts.append((last[0], last[1], f"{last[2]} {word}"))
    return parts


def _wrong(slots: Slots, letter: str, kind: str, label: str) -> list[str]:
    """Slots whose names could be taken for the object of this one."""
    return [other for other, sort, name in slots if other != letter and sort == kind and name != label]


def _names(scene: Scene, slots: Slots) -> dict[str, Name]:
    """A name for each slot; years rise and numbers fall with the letters, so that lives and shares come out possible."""
    names = {letter: scene.name(kind) for letter, kind, _ in slots if kind not in ("year", "number")}
    dated = [letter for letter, kind, _ in slots if kind == "year"]
    names |= {
        letter: Name(year, "year", "TIME", "year", value=year, datatype="gYear")
        for letter, year in zip(dated, scene.years(len(dated)), strict=True)
    }
    counted = [letter for letter, kind, _ in slots if kind == "number"]
    numbers = sorted(scene.rng.sample(range(40, 60_000), len(counted)), reverse=True)
    return names | {
        letter: Name(f"{number:,}", "number", "NUM", "number", value=str(number), datatype="integer")
        for letter, number in zip(counted, numbers, strict=True)
    }


def profile(scene: Scene, pair: str) -> list[Made]:
    """One portrait twice, with two names exchanged, the claims being the same; once where the objects are years or numbers."""
    rng = scene.rng
    place, (kind, template, spec) = pick_wording(rng, PORTRAITS, scene.held_out)
    slots = _slots(spec)
    s = scene.name(kind)
    names = _names(scene, slots)
    asked = [(letter, label, _wrong(slots, letter, sort, label)) for letter, sort, label in slots if label]
    asked = [(letter, label, wrong) for letter, label, wrong in asked if wrong]
    letter, label, wrong = rng.choice(asked)
    other = rng.choice(wrong)
    also = next((name for at, _, name in slots if at == other), "")
    template = choose(rng, template)
    y1, y2, y3 = scene.years(3)
    heading = title(scene, s, (names[letter], names[other]))
    items = []
    values = names[letter].type in ("TIME", "NUM")
    for exchange in (False,) if values else (False, True):
        now = {**names, letter: names[other], other: names[letter]} if exchange else names
        fields = {at: name.text for at, name in now.items()}
        pronouns = {"P": s.pronoun, "Pos": s.possessive, "P2": now["a"].pronoun, "Apos": now["a"].possessive}
        text = tidy(template.format(**fields, **pronouns, S=s.text, y1=y1, y2=y2, y3=y3))
        claims = [(label, now[letter], "s"), (label, now[other], "r" if values or label in FUNCTIONAL else "n")]
        if also:
            claims += [(also, now[other], "s"), (also, now[letter], "r" if values or also in FUNCTIONAL else "n")]
        items += [made(s, p, o, stance, "profile", f"profile/{place}", (heading, text), pair) for p, o, stance in claims]
    return items


BUILDERS: dict[str, Callable[[Scene, str], list[Made]]] = {"profile": profile}
