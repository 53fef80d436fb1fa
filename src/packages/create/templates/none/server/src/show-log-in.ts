import { sendLogIn } from './log-in-form';
import { find } from './show-notes';

const markup = `
  <form class="log-in">
    <h2>Log in</h2>
    <label>Name <input name="user" required maxlength="100" autocomplete="username"></label>
    <label>Password <input name="password" type="password" required autocomplete="current-password"></label>
    <p><button type="submit" name="action" value="log-in">Log in</button> <button name="action" value="sign-up" class="quiet">Sign up</button></p>
    <output role="alert"></output>
  </form>
`;

/** With a `user`, only that one may log in: the user's notes are on the screen. */
export function showLogIn(place: HTMLElement, user: string, done: () => void): void {
  place.innerHTML = markup;
  const form = find<HTMLFormElement>(place, 'form');
  const field = find<HTMLInputElement>(form, 'input');
  field.value = user;
  field.readOnly = user !== '';
  find<HTMLElement>(form, '[value=sign-up]').hidden = user !== '';
  form.addEventListener('submit', async (event) => {
    const problem = await sendLogIn(event);
    find(form, 'output').textContent = problem;
    if (problem === '') done();
  });
}
