import type { Tab } from '../drivers/browser.ts';
import { AdminPage } from './admin-page.ts';

/** The administration page in a tab, whatever serves it. */
export type PageInTab = Pick<
  AdminPage,
  'tab' | 'goTo' | 'press' | 'fill' | 'type' | 'sees' | 'seesNo' | 'whyOff' | 'until' | 'violations'
>;

/** These methods of an `AdminPage` use its tab alone. */
export function pageInTab(tab: Tab): PageInTab {
  return Object.assign(Object.create(AdminPage.prototype), { tab });
}
