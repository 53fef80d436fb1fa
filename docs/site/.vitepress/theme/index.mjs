import { useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { nextTick, onMounted, watch } from 'vue';
import { listen, runFrontPage } from '../../run/index.ts';
import { mendSearchDialogs } from './search-dialog.mjs';
import './style.css';
import './runnable.css';

export default {
  extends: DefaultTheme,
  setup() {
    const route = useRoute();
    onMounted(mendSearchDialogs);
    onMounted(() =>
      watch(
        () => route.path,
        () => nextTick(runFrontPage),
        { immediate: true },
      ),
    );
  },
  enhanceApp({ app, router }) {
    // A page that can't be rendered fails the build.
    app.config.throwUnhandledErrorInProduction = true;
    if (typeof document !== 'undefined') listen(import.meta.env.BASE_URL, () => router.route.data.filePath);
  },
};
