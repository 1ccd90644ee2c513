const INTERVAL_MS = 20;

/** Waits until `look` gives something other than undefined or false; says what it waited for when it does not. */
export async function waitFor<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 20_000,
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  let lastError: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch (error) {
      lastError = error;
    }
    if (performance.now() > giveUpAt) {
      throw new Error(`waited ${timeoutMs} ms in vain for ${what}`, { cause: lastError });
    }
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}
