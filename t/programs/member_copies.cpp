// Members of a class that are firstprivate in a target region.
//
// not ahead of time: clang gives each copy the address of its value
// expect: 12 5 10 -28 4 480 280000 4398046511104 4 45
// expect: 50 2199023255554 3298534883334
// expect: 3 1.25 1099511627778
#include <cstdio>

namespace {

enum Colour { RED, BLUE = 70000 };

struct Cell {
    int count;
    double weight;
    float part;
    short low;
    bool open;
    char letter;
    Colour colour;
    long big;
    const double *none;

    void generic(double *r)
    {
        #pragma omp target map(tofrom : r[:12]) \
            firstprivate(count, weight, part, low, open, letter, colour, big, \
                         none)
        {
            r[0] = count;
            r[1] = weight;
            r[2] = part;
            r[3] = low;
            r[4] = open;
            r[5] = letter;
            r[6] = colour;
            r[7] = big;
            r[8] = none == nullptr;
            count = 9;
            weight++;
            r[9] = count + weight;
        }
    }

    // The copy is the main thread's, and its parallel region shares it.
    double shared()
    {
        double sum = 0;
        #pragma omp target map(tofrom : sum) firstprivate(count)
        {
            count += 2;
            #pragma omp parallel for reduction(+ : sum)
            for (int i = 0; i < 10; i++)
                sum += count;
        }
        return sum;
    }

    template <class T> T through(T by)
    {
        T out = 0;
        #pragma omp target map(tofrom : out) firstprivate(big, by)
        {
            T *at = (T *)&by;
            long *mine = &big;
            *mine += 1;
            out = *at * (T)*mine;
        }
        return out;
    }
};

} // namespace

int main()
{
    Cell c = {3, 1.25, 2.5f, -7, true, 'x', BLUE, 1L << 40, nullptr};
    double r[12] = {};
    c.generic(r);
    for (int i = 0; i < 10; i++)
        std::printf("%.0f%s", r[i] * 4, i < 9 ? " " : "\n");
    std::printf("%.0f %.0f %ld\n", c.shared(), c.through(2.0),
                c.through(3L));
    std::printf("%d %.2f %ld\n", c.count, c.weight, c.big);
}
