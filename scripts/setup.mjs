import { main, setUp } from './lib/set-up.mjs';

await main(setUp);
