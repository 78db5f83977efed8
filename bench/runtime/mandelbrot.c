/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A dynamic schedule of iterations that differ in length.
 */
void mandelbrot(int width, int height, int limit, int *image)
{
    #pragma omp target parallel for schedule(dynamic, 4) \
        map(from : image[:width * height])
    for (int p = 0; p < width * height; p++) {
        float cx = 3.5f * (p % width) / width - 2.5f;
        float cy = 2.0f * (p / width) / height - 1.0f;
        float x = 0, y = 0;
        int n = 0;
        while (x * x + y * y <= 4 && n < limit) {
            float next = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = next;
            n++;
        }
        image[p] = n;
    }
}
