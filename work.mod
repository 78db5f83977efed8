!mod$ v1 sum:1a24368154e7476d
module work
type::pair
integer(4)::i
integer(4)::j
end type
contains
subroutine clause(a,b,c,d,e,f,g,h)
integer(4),optional::a
integer(4),optional::b(1_8:4_8)
integer(4),optional::c(:)
integer(4),allocatable,optional::d(:)
integer(4),optional,pointer::e(:)
integer(4),allocatable,optional::f
integer(4),optional,pointer::g
type(pair),optional::h(:)
end
subroutine none(c,d,yes)
integer(4),optional::c(:)
integer(4),allocatable,optional::d(:)
logical(4)::yes
end
subroutine held(c,d)
integer(4),optional::c(:)
integer(4),allocatable,optional::d(:)
end
subroutine outer(c)
integer(4),optional::c(:)
end
end
