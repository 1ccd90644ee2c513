/** Resolves with the work, or after `timeoutMs` without it; the work goes on. */
export async function withinTime(work: Promise<void>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const time = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
  await Promise.race([work, time]);
  clearTimeout(timer);
}
