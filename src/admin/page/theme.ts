/** Light or dark: what the system prefers, until the user chooses. */
import { effect, signal } from '@preact/signals';

export type Theme = 'light' | 'dark';

const KEY = 'settee-utils/theme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const stored = localStorage.getItem(KEY);

export const theme = signal<Theme>(stored === 'dark' || stored === 'light' ? stored : system());

prefersDark.addEventListener('change', () => {
  if (localStorage.getItem(KEY) === null) theme.value = system();
});

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
});

export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, theme.value);
}

function system(): Theme {
  return prefersDark.matches ? 'dark' : 'light';
}
