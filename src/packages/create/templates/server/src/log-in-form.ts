/** What the form to log in does, in every framework. */
import { logIn, signUp } from './session';

/** The button that was pressed decides: its value is `log-in` or `sign-up`. Returns what is wrong, or an empty text. */
export async function sendLogIn(event: SubmitEvent): Promise<string> {
  event.preventDefault();
  const data = new FormData(event.target as HTMLFormElement, event.submitter);
  const send = data.get('action') === 'sign-up' ? signUp : logIn;
  try {
    await send(String(data.get('user')).trim(), String(data.get('password')));
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
