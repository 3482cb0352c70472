// The chosen time is held while its form is open, and released when it is left; a booking never depends on it.

const HOLDS = "/api/public/holds";
const LONGEST_WAIT = 3000;
const stuck = new Map();
let held = null;
let turn = 0;
let releasing = Promise.resolve();
let holding = Promise.resolve();

export function hold(eventType, start, token, minutes) {
  holding = take(eventType, start, token, minutes);
  return holding;
}

// The form waits for the answer, so that its own hold does not stand in its way; but never for long.
export function answered() {
  return Promise.race([holding, new Promise((go) => setTimeout(go, LONGEST_WAIT))]);
}

async function take(eventType, start, token, minutes) {
  release();
  const mine = ++turn;
  await releasing;
  if (mine !== turn) return true;
  const known = stuck.get(start);
  if (known) {
    stuck.delete(start);
    held = { id: known, start };
    return true;
  }
  const body = { eventTypeId: eventType, startTime: start, durationMinutes: minutes, ...(token && { token }) };
  const answer = await send("POST", HOLDS, JSON.stringify(body));
  if (!answer?.ok) return answer?.status !== 409;
  const { holdId } = await answer.json();
  if (mine === turn) held = { id: holdId, start };
  else drop({ id: holdId, start });
  return true;
}

export function adopt(id, start) {
  if (id) held = { id, start };
}

export function heldFor(start) {
  return held?.start === start ? held.id : null;
}

export function keep() {
  turn += 1;
  held = null;
}

export function release() {
  turn += 1;
  if (held) drop(held);
  held = null;
}

function drop(one) {
  releasing = send("DELETE", `${HOLDS}/${one.id}`).then((answer) => {
    // What could not be released is used again if the same time is chosen again.
    if (!answer || answer.status === 429) stuck.set(one.start, one.id);
  });
}

async function send(method, url, body) {
  try {
    // Such a request outlives the page that sent it.
    return await fetch(url, { method, body, keepalive: true, headers: body && { "content-type": "application/json" } });
  } catch {
    return null;
  }
}

addEventListener("pagehide", release);
