import { leave, type Session } from './database';
import { showLogIn } from './show-log-in';
import { find, showNotes } from './show-notes';
import { textOf } from './sync-text';

const markup = `
  <div class="account"><span></span> <button type="button" class="quiet">Log out</button></div>
  <p class="sync" role="status"></p>
  <div class="again"></div>
  <div class="list"></div>
`;

/** The notes of the user who is logged in, and how their sync goes. */
export function showSession(session: Session, place: HTMLElement): Promise<void> {
  place.innerHTML = markup;
  find(place, '.account span').textContent = session.user;
  find(place, '.account button').addEventListener('click', () => leave(session));
  const again = find(place, '.again');
  const show = () => {
    const status = session.sync.status();
    find(place, '.sync').textContent = textOf(status);
    if (status.state !== 'unauthorized') again.replaceChildren();
    else if (again.childElementCount === 0) showLogIn(again, session.user, () => session.sync.retry());
  };
  session.sync.addEventListener('status', show);
  show();
  return showNotes(session.notes, find(place, '.list'));
}
