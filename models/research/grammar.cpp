// Words and phrases of the synthetic prose.

#include "models/research/grammar.hpp"

namespace rldp::models {

std::array<std::string_view, 3> prose_grammar() {
    return {prose_words, prose_scenes, prose_papers};
}

const std::string_view prose_words = R"(
woman = Anna|Maria|Helen|Ruth|Clara|Edith|Rosa|Nora|Ingrid|Leila|Amara|Sofia|Joan|Agnes|Miriam|Priya|Yuki|Elena|Grace|Olga
  |Beatrice|Fatima|Hannah|Iris|Judith|Katherine|Lucy|Martha|Naomi|Petra|Rachel|Susan|Teresa|Vera|Winifred|Zoe;
man = Thomas|Peter|Karl|George|Samuel|Henry|Walter|Ivan|Omar|Daniel|Paul|Victor|Arthur|Felix|Hugo|Rajan|Kenji|Oscar|Frank
  |Albert|Benjamin|Charles|David|Edward|Gabriel|Isaac|James|Leo|Martin|Noah|Philip|Quentin|Robert|Simon|Theo|William;
person = {woman}|{man};
surname = Brown|Weaver|Miller|Okafor|Hansen|Novak|Rossi|Silva|Tanaka|Walker|Fisher|Berg|Lindqvist|Moreau|Patel|Kowalski
  |Carter|Dietrich|Ellis|Fontaine|Griffin|Hughes|Ivanova|Jensen|Keller|Larsen|Mercer|Nolan|Osborne|Quigley|Reyes|Sandoval|{Made}|{Made};
title = Mrs.|Mr.|Miss|Doctor|Professor|Captain|Aunt|Uncle;
relative = sister|brother|mother|father|grandmother|grandfather|cousin|daughter|son|neighbor|nephew|niece|husband|wife|old friend;
job = baker|carpenter|nurse|teacher|pilot|farmer|librarian|gardener|porter|painter|mechanic|surgeon|cook|driver|tailor
  |clerk|engineer|musician|postman|fisherman|doctor|shepherd|printer|builder|pharmacist|cleaner|judge|guard|student|waiter;
animal = dog|cat|horse|goat|sparrow|crow|fox|hen|rabbit|donkey|owl|mouse|duck|sheep|cow|heron|pigeon|hedgehog|squirrel|beetle
  |swan|trout|frog|bee|wolf|bear;
tree = oak|birch|willow|apple tree|pine|maple|elm|cherry tree|walnut tree|ash|chestnut;
flower = rose|tulip|daisy|lily|poppy|violet|marigold|lavender|sunflower|iris|primrose;
fruit = apple|pear|plum|cherry|peach|fig|orange|lemon|apricot|melon|strawberry|raspberry;
vegetable = carrot|potato|onion|cabbage|leek|turnip|pumpkin|radish|cucumber|pepper|tomato|bean;
food = bread|soup|cheese|rice|porridge|stew|pie|cake|salad|butter|honey|jam|noodles|roast chicken|toast|pancakes;
drink = tea|coffee|milk|water|lemonade|cider|cocoa|apple juice;
tool = hammer|saw|spade|rake|needle|ladder|bucket|brush|knife|rope|lantern|wrench|drill|broom|chisel|file|basket|shovel|axe|pump;
thing = letter|book|key|box|coat|hat|clock|chair|table|lamp|mirror|map|bottle|umbrella|bag|bell|candle|carpet|cup|plate|window
  |door|picture|pencil|notebook|radio|suitcase|ticket|blanket|ring|bicycle|newspaper|kettle|piano|photograph|glove|shirt|wheel
  |purse|parcel|flute|telescope|compass|drum|kite|violin|towel|spoon|stamp|coin|button|pillow;
room = kitchen|hall|bedroom|attic|cellar|study|pantry|parlor|bathroom|workshop|corridor|office|waiting room|classroom|dining room;
building = house|school|church|library|hotel|station|theater|factory|mill|museum|barn|bakery|post office|town hall|inn|farm
  |hospital|pharmacy|bank|court|harbor office|greenhouse|lighthouse|stable|garage|laboratory|shop;
place = garden|market|park|bridge|harbor|river bank|square|forest|hill|valley|beach|orchard|meadow|lane|main road|old wall
  |railway line|village green|canal|field|lake|path|quarry|cemetery|playground;
town = Ashford|Milltown|Riverton|Oakham|Westbury|Norwick|Stonebridge|Elmsworth|Harwell|Larkfield|Dunmore|Castleton|Fairhaven
  |Kingsport|Brookside|Greenvale|Saltmarsh|Northgate|Thornbury|Wexley|Silverdale|Longmere|Eastcliff|Hollowell|{Made}|{Made}|{Made};
street = Mill Street|Church Lane|Station Road|High Street|Bridge Street|Park Avenue|Orchard Road|King Street|Queen Street|Hill Road
  |Castle Street|River Road|Market Street|Garden Lane|School Road|North Street|Forest Drive;
color = red|blue|green|yellow|white|black|brown|gray|orange|purple|pale|golden|silver|dark green|light blue;
size = small|large|tiny|long|short|wide|narrow|tall|heavy|light|huge|thick|thin|round|square|deep|low;
state = old|new|broken|clean|empty|full|wet|dry|warm|cold|open|locked|dusty|lost|ready|quiet|bright|dark|plain|painted|wooden
  |folded|rusty|polished|borrowed|forgotten|cracked|repaired|useful|strange|expensive|cheap|closed|soft|sharp|heavy;
feeling = happy|tired|hungry|proud|worried|calm|curious|lonely|angry|cheerful|surprised|grateful|nervous|patient|sleepy|thirsty
  |bored|relieved|sad|hopeful|ashamed|jealous|busy|afraid;
manner = slowly|quickly|quietly|carefully|gladly|loudly|gently|politely|suddenly|again and again|without a word|with great care
  |in silence|at once|by mistake|for a while|as usual|with a smile|with difficulty|in a hurry|all the same;
weekday = Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday;
month = January|February|March|April|May|June|July|August|September|October|November|December;
season = spring|summer|autumn|winter;
daypart = morning|afternoon|evening|night;
when = in the {daypart}|on {weekday}|at noon|after breakfast|before supper|last {weekday}|every {weekday}|at {clock}|in {month}
  |in early {season}|late in the {daypart}|two days later|after the rain|once a week|an hour later|the next {daypart}
  |during the holidays|since {year}|before sunrise|for {count} days|within {count} weeks|after {count} minutes|until {weekday}
  |a little after {clock}|between {#1-5} and {#6-11} o'clock|less than an hour ago|more than {count} years ago;
year = {#1880-1999}|{#1950-2019}|{#2000-2024};
clock = {#1-12}:{@9} o'clock|{#1-12}:{#10-59}|half past {word_number}|a quarter to {word_number}|{word_number} o'clock;
word_number = one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve;
count = two|three|four|five|six|seven|eight|ten|a dozen|twenty|{#2-9}|{#10-99}|{#11-60};
date = {#1-28} {month} {year}|{month} {#1-28}, {year}|{weekday}, {#1-28} {month}|{#1-28}/{#1-12}/{year}|{year}-{#10-12}-{#10-28};
money = {#1-99} dollars|{#1-99}.{@99} dollars|${#1-999}|{#2-90} cents|{#100-900} pounds|{#2-40} pounds and {#10-99} pence;
quantity = {#2-99} boxes|{#2-40} bags|{#2-12} bottles|a pair|{#2-30} sheets|{#3-60} pieces|half a dozen|{#100-990} grams|{#2-50} liters
  |{#1-9} and a half kilos|{#1-9}.{@9} meters|{#2-90} percent|{#2-30} crates|{#1-9},{@999} tons;
code = {@AA99}|{@A-999}|{@99-A}|{@AAA-99}|{@9A9}|{@A9A9}|{@999.9}|{@99.99}|{@A99}|{@9999}|{@AX9XX}|{@XXXXXX}|{@XXXXXXXX}|{@XXXXXXXXXX};
key = code|number|label|box|room|locker|ticket|part|order|shelf|page|entry|badge|password|tag|serial|batch|gate|platform|key;
adjective = {color}|{size}|{state}|{state};
noun = {thing}|{tool}|{animal}|{thing}|{building}|{tree}|{flower}|{fruit}|{vegetable};
object = the {thing}|the {adjective} {thing}|a~ {adjective} {thing}|a~ {thing}|the {tool}|a~ {adjective} {tool}|some {food}
  |the {size} {color} {thing}|her {thing}|his {thing}|their {tool}s|the {relative}'s {thing}|{count} {fruit}s|the last {fruit}
  |a cup of {drink}|a {size} piece of {food}|the {thing} from {town}|{count} {adjective} {thing}s|the {job}'s {tool};
someone = {who:person}|{who:person}|{friend:person}|the {job}|the {adjective} {animal}|her {relative}|his {relative}|the {job}'s {relative}
  |{title} {surname}|{person}|the children|a~ {feeling} {job}|an old {job} from {town}|two {job}s|the {feeling} {relative}|everyone
  |nobody|one of the {job}s|{who:person} and {friend:person};
where = in the {room}|at the {building}|near the {building}|by the {place}|under the {tree}|behind the {building}|in {spot:town}
  |on the table|beside the {thing}|across the {place}|in front of the {building}|on {street}|at the end of the {place}
  |between the {building} and the {place}|above the {building}|at home|next to the {tool}s|upstairs|on the other side of the {place}
  |outside {spot:town}|along the {place}|inside the {adjective} {thing}|on the floor of the {room};
verb = carried|found|bought|lost|painted|repaired|borrowed|cleaned|opened|dropped|moved|wanted|needed|forgot|kept|sold|hid|noticed
  |brought|packed|washed|broke|admired|counted|described|examined|collected|measured|lifted|returned|ordered|made|chose|drew
  |delivered|weighed|wrapped|covered|pushed|pulled|checked|received|offered|showed|touched|tested|changed|mended;
verb_now = carries|finds|buys|paints|repairs|cleans|opens|moves|needs|keeps|sells|brings|washes|counts|collects|measures|checks
  |orders|wants|delivers|weighs|receives|remembers|describes|changes|shows|mends|draws;
verb_base = carry|find|buy|paint|repair|clean|open|move|keep|sell|bring|wash|count|collect|measure|check|order|deliver|weigh
  |change|show|borrow|return|mend|draw|examine|close|choose|test|cover|wrap|hide|watch;
went = walked|ran|drove|went|hurried|wandered|cycled|came|traveled|climbed|rushed|stepped|sailed|marched|returned;
sat = sat|stood|waited|slept|worked|rested|stayed|played|lived|sang|talked|laughed|read|listened|watched the {animal}s;
said = said|whispered|answered|replied|shouted|explained|asked|added|repeated|thought|wrote|promised|insisted;
because = because {reason}|since {reason}|although {reason}|while {reason}|until {reason}|but {reason}|so {reason}|and {reason}|when {reason};
reason = the {place} was {state}|it was {weather_word}|{someone} was {feeling}|the {thing} was {state}|there was no {food} left
  |the {building} was closed|{someone} had {verb_past} it|the {animal} was {feeling}|it cost {money}|the road was long|the train was late
  |the {job} had asked for it|nothing else was left|the {room} was too {size}|the others were waiting|it was almost {clock};
verb_past = lost|found|sold|taken|brought|forgotten|repaired|painted|hidden|broken|bought|borrowed|cleaned|ordered|moved|changed|seen;
weather_word = raining|snowing|cold|warm|windy|foggy|cloudy|sunny|humid|freezing|mild|stormy|dark|hot;
part = ba|be|bi|bo|ca|co|da|de|di|do|fa|fe|fi|ga|ge|gli|gly|ha|he|ka|ki|la|le|li|lo|ma|me|mi|mo|na|ne|ni|no|pa|pe|pi|po|ra|re|ri|ro
  |sa|se|si|so|ta|te|ti|to|tra|tro|va|ve|vi|vo|xa|xi|za|ze|zo|zi|chlo|pro|pre|gra|sta|ste|thi|phe|qui|ur|en|an|or|al|ex|in|ac|am|ul|br|st;
ending = n|l|r|s|ne|de|te|ze|x|m|mine|pan|zine|lin|ton|mer|vin|dol|phen|dine|sol|cin|ra|lia|num|stan|berg|ford|by|wick|ham|one|ide|ose|an|ic;
made = {part}{ending}|{part}{part}{ending}|{part}{part}{part}{ending}|{part}{part}{part}{part}{ending};
)";

// What people do, say and write in the synthetic prose.

const std::string_view prose_scenes = R"(
passage = {scene}|{scene}|{scene}|{letter}|{talk}|{weather}|{ward}|{ward}|{diary}|{stock}|{stock}|{labels}|{labels}|{labels}|{survey}|{survey}
  |{recipe}|{route}|{news}|{facts}|{facts}|{minutes}|{minutes}|{codes}|{codes}|{leaflet}|{leaflet}|{leaflet}|{gazette}|{gazette}|{gazette};

scene = {opening} {*3-8 event}|{opening} {*2-4 event} {Quote} {*1-4 event}|{*4-9 event}|{opening} {*2-5 event} {closing}
  |{opening} {*1-3 event} {look} {*1-3 event} {closing};
opening = {When}, {who:person} {went} to the {building} {where}.|{who:person} was a~ {job} who lived {where}.
  |There was once a~ {feeling} {job} called {who:person}.|It was {weather_word} {where}, and {who:person} was {feeling}.
  |{who:person} and {friend:person} {sat} {where} {when}.|The {building} in {spot:town} had a~ {adjective} {thing}.
  |{title} {surname} had {count} {animal}s and a~ {color} {thing}.|Nobody in {spot:town} knew where the {adjective} {thing} was.
  |{When} the {building} was full of {job}s.|On {date}, {who:person} came to {spot:town}.
  |For {count} years {who:person} had worked as a~ {job} {where}.|{who:person} had never seen such a~ {size} {animal}.;
closing = In the end, {someone} {went} home {when}.|After that, {someone} was {feeling}.|And so the {thing} stayed {where}.
  |{someone_cap} never forgot the {adjective} {thing}.|That was the last time {someone} {verb} {object}.
  |The {thing} is still {where} today.|Then it was time to go to bed.|By {clock} everything was {state}.;
someone_cap = {who:person}|{friend:person}|The {job}|Her {relative}|His {relative}|{title} {surname}|The children|The {feeling} {animal}|{person}
  |The old {job}|Everyone|Nobody|One of the {job}s;
event = {someone_cap} {verb} {object} {where}.|{When}, {someone} {verb} {object}.|{someone_cap} {went} to the {building} {manner}.
  |{someone_cap} {sat} {where} {when}.|The {thing} was {state}, {because}.|{someone_cap} {verb} {object} {because}.
  |{someone_cap} {said} that {someone} was {feeling}.|There was a~ {adjective} {thing} {where}.|{He} {verb} {object} and {went} home.
  |It was {weather_word}, but {someone} {sat} {where}.|{someone_cap} wanted to {verb_base} {object}.|{He} had {verb_past} {object} {when}.
  |{someone_cap} did not {verb_base} {object}, {because}.|{someone_cap} asked {someone} to {verb_base} {object}.
  |If {someone} had {verb_past} {object}, the {building} would be {state}.|The {animal} {sat} {where} and was {feeling}.
  |{someone_cap} gave {someone} {object} {when}.|Without {object}, {someone} could not {verb_base} {object}.
  |{someone_cap} had no {tool}, so {someone} {verb} {object}.|The {job} who {verb} {object} was {feeling}.
  |{When}, the {place} was {state} and {state}.|Both {person} and {person} {verb} {object}.|{someone_cap} paid {money} for {object}.
  |It took {count} days to {verb_base} {object}.|The {tree} {where} was {size} and {color}.|{someone_cap} was more {feeling} than {someone}.
  |{He} thought about {object} and {sat} {where}.|Neither the {job} nor the {relative} {verb} {object}.
  |{someone_cap} {verb} {object}, {verb} {object}, and {went} to {town}.|{Quote};
he = he|she|they|{who:person};
look = The {building} was {size} and {color}, with a~ {adjective} {thing} {where}.|In the {room} stood a~ {adjective} {thing} and {count} {thing}s.
  |The {place} smelled of {food} and {drink}.|{who:person} wore a~ {color} {garment} and {color} shoes.
  |From the {building} one could see the {place}, the {building} and the {tree}s.|The {room} had {count} windows and a~ {color} door.
  |On the wall hung a~ {adjective} picture of a~ {animal}.|The {animal} had {color} eyes and a~ {size} tail.;
garment = coat|hat|shirt|dress|scarf|jacket|apron|sweater|uniform|cap;
quote = "{saying}," {said} {someone}.|"{saying}," {who:person} {said} {manner}.|{someone_cap} {said}, "{saying}."|"{question}?" {said} {someone}.;
saying = I have {verb_past} the {thing}|We should {verb_base} {object}|The {thing} is {where}|You can keep {object}|It is too {size} for the {room}
  |Please {verb_base} {object} {when}|I am {feeling} today|My {relative} is a~ {job} in {spot:town}|There are {count} {animal}s {where}
  |Nobody has {verb_past} the {thing}|This {thing} costs {money}|We must leave {when}|I will {verb_base} it {when}|That is not my {thing};
question = Where is the {thing}|Who {verb} {object}|When will {who:person} come back|Why is the {thing} {state}|How many {thing}s are there
  |Can you {verb_base} {object}|Have you seen my {thing}|Is the {building} open {when}|What did the {job} say|Do you want {food} or {drink};

letter = Dear {friend:person}, {*3-7 line} {farewell}|{town}, {date}. Dear {title} {surname}, {*2-6 line} {farewell}
  |My dear {relative}, {*3-7 line} {farewell};
line = Thank you for the {thing} and the {food}.|I hope that you are not {feeling}.|We have {verb_past} the {thing} at last.
  |Your {relative} {verb} {object} {when}.|The weather here is {weather_word}, and the {place} is {state}.|I am writing {because}.
  |Please send me {quantity} of {food} {when}.|The {animal} is well and {sat_now} {where}.|Last {weekday} we {went} to {town}.
  |Do you remember the {adjective} {thing} {where}?|I have been {feeling} since {month}.|{Someone_cap} asks about you every week.
  |My new address is {#1-200} {street}, {town}.|The train leaves at {clock} and arrives at {clock}.|I enclose {money} for {object}.
  |We shall come {when} if the {place} is {state}.|You may {verb_base} {object} as long as you like.|The {job} said it would take {count} days.;
sat_now = sleeps|sits|lives|waits|plays|stays|sings;
farewell = Yours, {who:person}.|With love, {who:person}.|Yours sincerely, {who:person} {surname}.|Best wishes to your {relative}. {who:person}
  |Write soon! Your {relative}, {who:person}.;

talk = {*4-10 turn}|{opening} {*3-8 turn};
turn = {who:person}: {saying}.|{friend:person}: {question}?|{friend:person}: {saying}.|{who:person}: {question}?|{who:person}: {answer}
  |{friend:person}: {answer};
answer = Yes, {when}.|No, it is {state}.|I do not know.|Perhaps {when}.|Only {count}.|Of course, {because}.|It was {someone}.|Not before {clock}.
  |Ask the {job}.|{Where}, I think.;

diary = {date}. {*2-5 event} {date}. {*2-5 event}|{weekday}. {*2-4 entry} {weekday}. {*2-4 entry}|{*3-8 timed};
entry = Got up at {clock}.|{Weather_word} all day.|{Verb} {object}.|Saw {someone} {where}.|Spent {money} on {food}.|Felt {feeling}.
  |{Went} to {town} and back.|No news from {person}.|Wrote to {someone}.|Slept badly.|Worked {where} until {clock}.;
timed = {#5-9}:{#10-59} {Verb} {object}.|{#10-23}:{#10-59} {Someone_cap} {verb} {object}.|{#10-23}:{#10-59} {Went} to the {building}.;

recipe = {Food} with {vegetable}s. {*5-10 step}|To make {food} for {count} people, take {quantity} of {vegetable}s. {*4-8 step};
step = Wash the {vegetable}s and cut them into {size} pieces.|Add {quantity} of {food}.|Boil the {drink} for {#2-40} minutes.
  |Stir {manner} until it is {state}.|Put the {fruit}s in a {size} bowl.|Mix {food} with {food}.|Leave it {where} for {count} hours.
  |Cover it and wait.|Heat the oven to {#120-240} degrees.|Serve it with {food} and {drink}.|Add salt and pepper.|Slice the {fruit}s {manner}.
  |Do not let it boil.|Bake it for {#10-90} minutes.|Pour the {drink} over the {food}.;

route = From the {building} in {spot:town}, {*4-9 leg}|To reach {town}, {*4-8 leg};
leg = turn left at the {building}.|Turn right into {street}.|Go straight on for {#100-900} meters.|Cross the {place}.|Follow the {place} to the {building}.
  |Take bus {#1-99} to {street}.|Change at {town}.|Walk past the {adjective} {building}.|After {count} minutes you see a~ {adjective} {building}.
  |The {building} is on your left.|Keep the {place} on your right.|Get off at the {#2-9}th stop.|Take road {@A99} as far as {town}.;
)";

// Reports, lists and notes in the synthetic prose. They know wards and clinics, but nothing of the narratives'
// template.

const std::string_view prose_papers = R"(
weather = {*4-9 forecast}|Forecast for {spot:town}, {date}. {*3-7 forecast};
forecast = {Weather_word} in {town}.|{When}, {wind} with {sky}.|Temperatures between {#1-12} and {#13-35} degrees.|{sky_cap} over the {place}.
  |{#1-90} millimeters of rain are expected {when}.|Snow above {#400-2400} meters.|{wind_cap}, later {sky}.|The night will be {weather_word}.
  |Tomorrow it will be {weather_word} with {sky}.|The lowest reading was minus {#1-30} degrees in {town}.|Fog {where} until {clock}.
  |It will become {weather_word} {when}.|The water of the lake is at {#8-26} degrees.|Less than {#2-20} percent of the sky is covered.;
wind = light wind from the {compass}|strong wind|a storm from the {compass}|calm air|gusts of up to {#30-120} kilometers per hour;
wind_cap = Light wind from the {compass}|Strong wind|Storm from the {compass}|Calm air;
sky = some clouds|clear sky|heavy rain|showers|thunder|bright intervals|drizzle|snow;
sky_cap = Clouds|Clear sky|Heavy rain|Showers|Thunder|Sunshine|Fog;
compass = north|south|east|west|northwest|southeast|northeast|southwest;

ward = {*5-14 round}|Ward {#1-20}, {daypart} shift. {*5-14 round}|Clinic on {street}, {date}. {*5-14 round};
round = The {medic} {checked} the {organ} of {title} {surname}.|Bed {#1-40} is {bed_state}.|{title} {surname} complained of {complaint}.
  |The {medic} asked for {test}.|{Test} was {finding}.|Temperature {#36-40}.{@9}, pulse {#52-130}.|Blood pressure {#95-190} over {#55-110}.
  |{who:person} slept well and ate some {food}.|A tablet was given at {clock}.|The {medic} ordered {quantity} of bandages.
  |The visitors left at {clock}.|{title} {surname} may go home on {weekday}.|The {organ} is {healing}.|The {complaint} began {when}.
  |The {medic} {changed} the dressing on the {organ}.|The family was told about {test}.|No {complaint} was reported {when}.
  |A new {medic} starts on {weekday}.|The lift to the third floor is {state}.|{who:person} walked to the window with the {medic}.
  |An older man with {complaint} came in by ambulance.|A young woman with a broken {organ} was brought to room {#1-99}.
  |Surgery on the {organ} is planned for {date}.|The doses were {dose_change} after {test}.|The patients in room {#1-99} are {feeling}.
  |A child of {#2-15} years was seen for {complaint}.|The pharmacy sent {quantity} of {remedy}.|{Remedy} helped against the {complaint}.
  |The {medic} explained the {remedy} to {title} {surname}.|The discharge papers are on the desk of the {medic}.
  |Admission desk: {count} people waiting, {count} beds free.|The insurance letter for {title} {surname} has arrived.;
checked = checked|examined|washed|treated|looked at;
changed = changed|renewed|removed;
medic = doctor|nurse|surgeon|matron|specialist|assistant|midwife|physician|therapist|night nurse;
organ = heart|left knee|right arm|back|throat|stomach|lung|ear|eye|shoulder|ankle|hip|hand|skin|foot|liver|wrist;
bed_state = free|taken|being cleaned|reserved for {title} {surname}|near the window|to be moved;
complaint = pain|fever|a cough|headache|dizziness|a rash|swelling|weakness|thirst|nausea|a sore throat|poor sleep|an infection;
test = an X-ray|a blood test|a scan|a urine sample|a second opinion|the laboratory report|a heart trace|an eye test|a sugar test;
finding = normal|not normal|repeated on {weekday}|unclear|better than before|lost|sent to {town}|negative|positive|slightly raised;
healing = healing|much better|still swollen|no better|clean and dry|painful at night|stiff in the morning;
dose_change = lowered|raised|halved|doubled|left as they were|reviewed|stopped;
remedy = ointment|cough syrup|eye drops|vitamins|herbal tea|painkillers|rest|exercise|iron tablets|antibiotics|warm baths|{made}|{made}|{made}|{cure:made}|{cure:made};

news = {town}, {date}. {*4-8 report}|{*5-9 report};
report = The mayor of {town} opened a new {building} {when}.|{Count} {job}s were honored {where}.|The price of {food} rose by {#2-40} percent.
  |A fire broke out at the {building} on {street}.|The {building} will be closed until {date}.|{title} {surname}, a~ {job}, won {money}.
  |According to {title} {surname}, the {place} is {state}.|More than {#100-9000} people visited the {building}.
  |The council decided to {verb_base} the {adjective} {building}.|A~ {animal} was seen near the {building} in {town}.
  |The team from {town} beat {town} by {#2-9} to {#0-1}.|Train {#100-999} to {town} was {#5-90} minutes late.
  |A~ {job} from {town} was arrested {when}.|The cause is not yet known.|Nobody was hurt.|The work began in {year} and ended in {year}.
  |Only {#2-49} of {#50-99} {job}s agreed.|The report has {#12-480} pages.;

facts = {*4-9 fact};
fact = The {job} {verb_now} {object} every {season}.|A~ {job} often {verb_now} {object}.A~ {tool} is used to {verb_base} things.|{Animal}s live near the {place}.|The {tree} is a tree with {size} leaves.|A week has seven days.
  |A~ {job} works in a~ {building}.|{Food} is made with {food} and {drink}.|The {flower} is {color} or {color}.|Most {animal}s are {feeling} in {season}.
  |{month} comes before {season} in some countries.|{#2-12} times {#2-12} is a number below 200.|A~ {fruit} is sweeter than a~ {vegetable}.
  |In {year} the first {building} was built in {town}.|Water boils at 100 degrees.|A~ {thing} can be {state} or {state}.|{town} lies on the {compass} coast.
  |The {building} of {town} is {#8-90} meters high.|Not every {animal} can swim.|There are {#28-31} days in some months.
  |The first, second and third {building}s are {color}.|The number after {#1-99} is larger.;

stock = {*5-14 item}|Stock list of {date}. {*5-12 item}|{*4-8 order};
item = {quantity} of {food}.|{#2-300} {thing}s, {color}.|{#2-90} {adjective} {tool}s, {money} each.|{Thing}: {#2-99}.|{Tool}s: none.
  |{Vegetable}s ({quantity}), from {town}.|shelf {@A9}: {count} {thing}s.|no {fruit}s until {weekday}.|{Fruit}s: {#2-99}, {vegetable}s: {#2-99}.
  |{thing} {@99-A}, {state}, {money}.|{color} {garment}, size {#34-48}.|{#2-60} boxes of {made}.|{made} and {made}, {money}.;
order = Order {code}: {#2-90} {thing}s for {title} {surname}, due {date}.|Order {code} was sent to {town} {when}.|Order {code} is {order_state}.
  |Invoice {#1000-9999}: {money}, paid.|Invoice {#1000-9999}: {money}, not paid.|Parcel {code} weighs {#1-30}.{@9} kilos.
  |The {thing}s of order {code} are {state}.;
order_state = open|closed|late|ready|lost|on its way|not paid|not complete|with the {job};

labels = {*8-20 label}|Check of the {building}. {*6-18 label}|{*8-24 same_label}|{*4-9 label} {*6-14 same_label} {*3-8 label};
label = {noun} is {state}.|{noun} is {color}.|{thing} and {thing} are {state}.|{room} is {state}.|the {thing} is {where}.|the {tool} is {state}.
  |{key} is {code}.|{key} {code} is {state}.|number of {thing}s is {#0-99}.|{drink} is {state}.|the {adjective} {thing} was {verb_past}.
  |{building} type is {kind}.|the {job} had {count} {thing}s.|the {job} had no {thing}s this {season}.|{color} {thing} is not {verb_past}.
  |{place} is in {town}.|owner is {person} {surname}.|size is {#1-99}.|price is {money}.|color is {color}.|{thing} color is {color}.
  |{key}={code}.|{key}_{@a}={code}.|{key}={@XXXXXX}.|{made} is {state}.|{made} is {color}.|{made}-{made} is {state}.|{made} {thing} is {state}.
  |the {job}'s {made} was {verb_past}.;
same_label = {thing} is {mood:mood}.|{tool} is {mood:mood}.|{fruit} is {mood:mood}.|{vegetable} is {mood:mood}.|{flower} is {mood:mood}.|{garment} is {mood:mood}.|{made} is {mood:mood}.|{made} is {mood:mood}.|{made}-{made} is {mood:mood}.;
mood = not needed|not here|on the list|for sale|in the {room}|not {verb_past}|{verb_past}|{state}|to be {verb_past}|with {person};
kind = new|public|private|mixed|wooden|stone|rural|urban|temporary|closed|of the first class|of the second class;

survey = {*6-18 reply}|Survey of {spot:town}, {year}. {*6-16 reply};
reply = {#2-90} of the {job}s own a~ {thing}.|the {animal} is between {#1-6} and {#7-18} years old.|the {job} lives {where}.|the {building} has {#2-40} rooms.
  |the {job} worked there for {#2-40} years.|the {relative} had {#2-9} {animal}s in the year before.|answer {#1-40} is {code}.|question {#1-40} has no answer.
  |the first answer was {reply_word}.|the second answer was {reply_word}.|another answer was {reply_word}.|the {thing}s were {verb_past} {when}.
  |the family moved from {town} to {town}.|the {job} was paid {money}.|the {animal}s were counted {when}.|fewer than {#10-90} {job}s replied.
  |the visit took less than {#10-90} minutes.|the {job}'s {thing}s were {verb_past}.|the {relative} traveled for {#2-30} days.;
reply_word = yes|no|never|often|not sure|{feeling}|{state}|{color}|{#1-99}|none|always|other;

minutes = Meeting at the {building} in {spot:town}, {date}. Present: {person} {surname}, {person} {surname} and {count} others. {*4-9 point};
point = {#1-12}. The {thing}s were {verb_past}.|{#1-12}. {person} {surname} will {verb_base} the {thing}.|{#1-12}. {money} for the {building} was agreed.
  |{#1-12}. The {job} asked {someone} to {verb_base} {object}.|{#1-12}. Nobody was against it.|{#1-12}. The {building} needs {quantity} of paint.
  |{#1-12}. Next meeting: {date}, {clock}.|{#1-12}. The {job}'s report was read ({#2-40} pages).|{#1-12}. The {place} (see page {#2-90}) is {state}.;

codes = {*5-14 coded}|List of {key}s, {date}: {*6-14 coded};
coded = {key} {code}.|{code} {noun}.|{code}, {code}, {code}.|{Key} {code}: {noun}.|{key}={code}.|{code} [{#0-49}-{#50-99}).|{code}/{code} ({state}).|{@AAAA} >{#1-9}.
  |{#1-99} {code} {person}.|telephone {@999 9999}.|from {code} to {code}.|{@aaaa}_{@aa} is {code}.|{key}_{key}={code}.|old {key} {code}, new {key} {code}.;

leaflet = {*5-12 leaf};
leaf = The {kin:made} is a~ {size} {flower} from {town}.|The {kin:made} was first described by {person} {surname} in {year}.|{Kin:made} grows {where}.
  |Leaves of the {kin:made} contain {made}, {made} and {made}.|{Kin:made} and {made} are often confused.|The {made} of {town} is {color}.
  |{Kin:made} is used against {complaint}.|Tea of {kin:made} is {color} and {state}.|{made}-{made} is a mixture of both.|Of {count} kinds of {kin:made}, {count} are {color}.
  |The {animal}s of {town} eat {kin:made}.|A kilo of {kin:made} costs {money}.|Do not mix {kin:made} with {made}.|The word {kin:made} means {thing} in the old language.;

gazette = {*5-12 notice};
notice = The boat race from {town} to {town} was won by {person} {surname}.|The weight of the {thing} was {#1-90} kilos.|The number of visits rose to {#20-900}.
  |An unknown {job} left {object} {where}.|The source of the river is near {town}.|{person} goes to the secondary school in {town}.|Red, blue and yellow are primary colors.
  |An additional {thing} was {verb_past} {when}.|This type of {tool} was {verb_past} in {year}.|Admission to the {building} costs {money}.
  |The discharge of the river was measured {where}.|{person} had a strange encounter with a~ {animal}.|The procedure was explained in {#2-9} steps.
  |The medication was kept in the {room}.|The transfer of the {job} to {town} was {verb_past} {when}.|The skilled {job}s of {town} {verb} {object}.
  |The preceding chapter describes the {building}.|The emergency exit is {where}.|The patient {job} {verb} {object}.|The codes have {#2-9} digits, the first three are letters.
  |The result was between {#1-40} and {#41-99}.|Her specialty was {food} with {fruit}s.|The facility {where} was {state}.|The referral came {when}.
  |The profile of the hill is {size}.|The rates of the bank increased by {#1-9} percent and then decreased.|No {job} from {town} was there.|The {job} remained {feeling} and unchanged.
  |The physician prescribed {remedy}.|The serum from {town} arrived {when}.|The hospital of {town} has {#20-900} beds.|The medical library opens {when}.
  |Her diagnosis was {complaint}.|The encounter lasted {count} minutes.|Laboratory {@A9} is {where}.|A second, third and fourth {thing} were {verb_past}.
  |The payer signed {when}.|A~ {job} stayed with {person} for {#2-30} days.|Other {job}s were not {feeling}.|The weights are {#1-9}, {#10-20} and {#21-50}.;
)";

}  // namespace rldp::models
